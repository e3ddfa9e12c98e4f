import { seconds } from "../../../core/domain/rounded.js";
import type { UsageSum } from "../../../core/ports/account-reports.js";
import { type Balance, type Usage, usageUnit } from "../../../core/protocol/account-schemas.js";
import { NO_QUERY } from "../../../core/protocol/catalog-schemas.js";
import { readQuery } from "../../../core/protocol/query.js";
import { parseUsageQuery } from "../../../core/protocol/usage-query.js";
import { type AdmitDeps, admit } from "../admit.js";
import type { Exchange } from "../exchange.js";
import { PolledReports } from "../polled-reports.js";
import type { Handlers, RouteDeps } from "../router.js";
import { TOKEN_LIFETIME_S } from "../signed-credentials.js";

type AccountDeps = AdmitDeps & Pick<RouteDeps, "reports" | "clock">;

const NO_STORE = { "cache-control": "no-store" };

/** Credits and usage of the key's organization. */
export function accountHandlers(deps: AccountDeps): Handlers<"GET /v1/balance" | "GET /v1/usage"> {
  const reports = new PolledReports(deps.reports, deps.clock);
  return {
    "GET /v1/balance": (exchange) => sendBalance(exchange, deps, reports),
    "GET /v1/usage": (exchange) => sendUsage(exchange, deps, reports),
  };
}

async function sendBalance(exchange: Exchange, deps: AccountDeps, reports: PolledReports): Promise<void> {
  const { identity } = await admit(exchange, deps, null);
  readQuery(NO_QUERY, exchange.request.query);
  const { balance, held, available, tier } = await reports.credits(identity.organizationId);
  const body: Balance = { balance, held, available, tier };
  await exchange.json(200, body, NO_STORE);
}

async function sendUsage(exchange: Exchange, deps: AccountDeps, reports: PolledReports): Promise<void> {
  const { identity } = await admit(exchange, deps, null);
  const period = parseUsageQuery(exchange.request.query, new Date());
  const sums = await reports.usage(identity.organizationId, period);
  const body: Usage = { ...period, data: sums.map(toRow) };
  await exchange.json(200, body, NO_STORE);
}

function toRow({ day, kind, endpoint, requests, quantity, credits }: UsageSum): Usage["data"][number] {
  return { day, kind, endpoint, requests, quantity: seconds(quantity), unit: usageUnit(kind), credits };
}

type TokenDeps = AdmitDeps & Pick<RouteDeps, "tokens">;

/** Issues short-lived tokens with which a browser opens a live socket. */
export function tokenHandlers(deps: TokenDeps): Handlers<"POST /v1/stream/token"> {
  return { "POST /v1/stream/token": (exchange) => issueToken(exchange, deps) };
}

async function issueToken(exchange: Exchange, deps: TokenDeps): Promise<void> {
  const { identity } = await admit(exchange, deps, null);
  readQuery(NO_QUERY, exchange.request.query);
  const body = { token: deps.tokens.issue(identity), expires_in: TOKEN_LIFETIME_S };
  await exchange.json(200, body, { "cache-control": "no-store" });
}
