import type { z } from "zod";
import { seconds } from "../../../core/domain/rounded.js";
import type { LedgerCursor, LedgerEntry, LedgerFilter } from "../../../core/ports/console-store.js";
import { AttemptLimiter } from "./attempt-limiter.js";
import { ConsoleError } from "./console-error.js";
import { LEDGER_CSV_TITLES, ledgerCsvLine } from "./ledger-csv.js";
import { type ConsoleDeps, type ConsoleRoute, type MemberCall, ORGANIZATION } from "./route.js";
import { LEDGER_EXPORT, LEDGER_PAGE, parse, REDEMPTION, USAGE_DAYS } from "./schemas.js";

const PAGE_ENTRIES = 50;
const CSV_PAGE_ENTRIES = 1_000;
const REDEMPTIONS = { kind: "vouchers of an organization", attempts: 10, windowMs: 15 * 60_000 };

/** Balance, ledger, usage, and vouchers. */
export function creditRoutes({ store, clock }: ConsoleDeps): readonly ConsoleRoute[] {
  const redemptions = new AttemptLimiter(REDEMPTIONS, store.attempts, clock);
  return [
    {
      method: "GET",
      path: `${ORGANIZATION}/credits`,
      access: "member",
      handle: async ({ deps, organizationId }) => {
        const { lastTopUp, ...credits } = await deps.store.reports.credits(organizationId);
        const last =
          lastTopUp === null ? null : { credits: lastTopUp.credits, created_at: lastTopUp.createdAt };
        return { body: { ...credits, last_top_up: last } };
      },
    },
    { method: "GET", path: `${ORGANIZATION}/ledger`, access: "member", handle: ledgerPage },
    { method: "GET", path: `${ORGANIZATION}/ledger.csv`, access: "member", handle: ledgerCsv },
    { method: "GET", path: `${ORGANIZATION}/usage`, access: "member", handle: usage },
    {
      method: "POST",
      path: `${ORGANIZATION}/vouchers`,
      access: "member",
      handle: async ({ deps, organizationId, user, body }) => {
        await redemptions.take(organizationId);
        const { code } = parse(REDEMPTION, await body());
        const order = { organizationId, userId: user.id, proof: code };
        const credits = await deps.topUps.redeem(order);
        if (credits === null) {
          throw new ConsoleError(
            "voucher_invalid",
            "the voucher is unknown, used or expired; check the code",
          );
        }
        await redemptions.clear(organizationId);
        return { status: 201, body: { credits } };
      },
    },
  ];
}

async function ledgerPage({ exchange, deps, organizationId }: MemberCall) {
  const { before, ...wanted } = parse(LEDGER_PAGE, Object.fromEntries(exchange.request.query));
  const entries = await deps.store.reports.ledger(organizationId, {
    filter: filterOf(wanted),
    before: before === undefined ? null : { position: before, balance: null },
    limit: PAGE_ENTRIES + 1,
  });
  const shown = entries.slice(0, PAGE_ENTRIES);
  const next = entries.length > PAGE_ENTRIES ? (shown.at(-1)?.position ?? null) : null;
  return { body: { data: shown.map(toJson), next } };
}

async function ledgerCsv({ exchange, deps, organizationId }: MemberCall) {
  const filter = filterOf(parse(LEDGER_EXPORT, Object.fromEntries(exchange.request.query)));
  const limit = CSV_PAGE_ENTRIES;
  exchange.start(200, {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": 'attachment; filename="ledger.csv"',
    "cache-control": "no-store",
  });
  await exchange.write(Buffer.from(LEDGER_CSV_TITLES));
  let before: LedgerCursor | null = null;
  do {
    const entries: LedgerEntry[] = await deps.store.reports.ledger(organizationId, { filter, before, limit });
    if (entries.length > 0) await exchange.write(Buffer.from(entries.map(ledgerCsvLine).join("")));
    const last: LedgerEntry | undefined = entries.length === limit ? entries.at(-1) : undefined;
    // With the balance of the last line each entry is summed up once, however many pages there are.
    before = last === undefined ? null : { position: last.position, balance: last.balance - last.amount };
  } while (before !== null);
  await exchange.end();
  return null;
}

function filterOf({ kind, from, until }: z.output<typeof LEDGER_EXPORT>): LedgerFilter {
  return { kind: kind ?? null, from: from ?? null, until: until ?? null };
}

async function usage({ exchange, deps, organizationId }: MemberCall) {
  const { days } = parse(USAGE_DAYS, Object.fromEntries(exchange.request.query));
  const rows = await deps.store.reports.usage(organizationId, days);
  const data = rows.map(({ keyId, keyName, quantity, ...row }) => ({
    ...{ ...row, quantity: seconds(quantity) },
    ...{ key_id: keyId, key_name: keyName },
  }));
  return { body: { days, data } };
}

function toJson(entry: LedgerEntry) {
  return {
    kind: entry.kind,
    credits: entry.amount,
    balance: entry.balance,
    request_id: entry.requestId,
    endpoint: entry.endpoint,
    key_name: entry.keyName,
    created_at: entry.createdAt,
  };
}
