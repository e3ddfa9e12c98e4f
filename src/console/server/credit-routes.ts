import type { z } from "zod";
import { seconds } from "../../../core/domain/rounded.js";
import type { LedgerCursor, LedgerEntry, LedgerFilter } from "../../../core/ports/console-store.js";
import { AttemptLimiter } from "./attempt-limiter.js";
import { ConsoleError } from "./console-error.js";
import { type ConsoleDeps, type ConsoleRoute, type MemberCall, ORGANIZATION } from "./route.js";
import { LEDGER_EXPORT, LEDGER_PAGE, parse, REDEMPTION, USAGE_DAYS } from "./schemas.js";

const PAGE_ENTRIES = 50;
const CSV_PAGE_ENTRIES = 1_000;
const REDEMPTIONS = { kind: "vouchers of an organization", attempts: 10, windowMs: 15 * 60_000 };

const CSV_TITLES = "time,kind,credits,request_id,endpoint,key,balance\r\n";

/** Lists the routes for balance, ledger, usage and vouchers. */
export function creditRoutes({ store, clock }: ConsoleDeps): readonly ConsoleRoute[] {
  const redemptions = new AttemptLimiter(REDEMPTIONS, store.attempts, clock);
  const redeem = async ({ deps, organizationId, user, body }: MemberCall) => {
    await redemptions.take(organizationId);
    const { code } = parse(REDEMPTION, await body());
    const credits = await deps.topUps.redeem({ organizationId, userId: user.id, proof: code });
    if (credits === null)
      throw new ConsoleError("voucher_invalid", "the voucher is unknown, used or expired; check the code");
    await redemptions.clear(organizationId);
    return { status: 201, body: { credits } };
  };
  return [
    { method: "GET", path: `${ORGANIZATION}/credits`, access: "member", handle: balance },
    { method: "GET", path: `${ORGANIZATION}/ledger`, access: "member", handle: ledgerPage },
    { method: "GET", path: `${ORGANIZATION}/ledger.csv`, access: "member", handle: ledgerCsv },
    { method: "GET", path: `${ORGANIZATION}/usage`, access: "member", handle: usage },
    { method: "POST", path: `${ORGANIZATION}/vouchers`, access: "member", handle: redeem },
  ];
}

async function balance({ deps, organizationId }: MemberCall) {
  const { lastTopUp, ...credits } = await deps.store.reports.credits(organizationId);
  const last = lastTopUp && { credits: lastTopUp.credits, created_at: lastTopUp.createdAt };
  return { body: { ...credits, last_top_up: last } };
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
  await exchange.write(Buffer.from(CSV_TITLES));
  let before: LedgerCursor | null = null;
  do {
    const entries: LedgerEntry[] = await deps.store.reports.ledger(organizationId, { filter, before, limit });
    if (entries.length > 0) await exchange.write(Buffer.from(entries.map(csvLine).join("")));
    const last: LedgerEntry | undefined = entries.length === limit ? entries.at(-1) : undefined;
    // Continue from the last line's balance, so that each entry is summed only once across all pages.
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

/** Formats one line of the export, as in RFC 4180. */
function csvLine(entry: LedgerEntry): string {
  const { createdAt, kind, amount, requestId, endpoint, keyName, balance } = entry;
  const texts = [requestId ?? "", endpoint ?? "", keyName ?? ""].map(csvCell);
  return `${[createdAt.toISOString(), kind, amount, ...texts, balance].join(",")}\r\n`;
}

/** Quotes text from users, so that spreadsheets do not run it as a formula. */
function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
