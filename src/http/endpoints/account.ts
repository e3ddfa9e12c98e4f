import { seconds } from "../../../core/domain/rounded.js";
import type { UsageSum } from "../../../core/ports/account-reports.js";
import { type Balance, type Usage, usageUnit } from "../../../core/protocol/account-schemas.js";
import { NO_QUERY } from "../../../core/protocol/catalog-schemas.js";
import { readQuery } from "../../../core/protocol/query.js";
import { parseUsageQuery } from "../../../core/protocol/usage-query.js";
import { type AdmitDeps, admit } from "../admit.js";
import type { Exchange } from "../exchange.js";
import { PolledReports } from "../polled-reports.js";
import type { Handlers, RouteDeps } from "../route.js";

/** What it takes to tell about an account. */
type AccountDeps = AdmitDeps & Pick<RouteDeps, "reports" | "clock">;

const NOT_KEPT = { "cache-control": "no-store" };

/** An organization's credits and what it has used, for its keys; asking costs nothing. */
export function accountHandlers(deps: AccountDeps): Handlers<"GET /v1/balance" | "GET /v1/usage"> {
  const reports = new PolledReports(deps.reports, deps.clock);
  return {
    "GET /v1/balance": (exchange) => tellBalance(exchange, deps, reports),
    "GET /v1/usage": (exchange) => tellUsage(exchange, deps, reports),
  };
}

async function tellBalance(exchange: Exchange, deps: AccountDeps, reports: PolledReports): Promise<void> {
  const { identity } = await admit(exchange, deps, null);
  readQuery(NO_QUERY, exchange.request.query);
  const { balance, held, available, tier } = await reports.credits(identity.organizationId);
  const body: Balance = { balance, held, available, tier };
  await exchange.json(200, body, NOT_KEPT);
}

async function tellUsage(exchange: Exchange, deps: AccountDeps, reports: PolledReports): Promise<void> {
  const { identity } = await admit(exchange, deps, null);
  const period = parseUsageQuery(exchange.request.query, new Date());
  const sums = await reports.usage(identity.organizationId, period);
  const body: Usage = { ...period, data: sums.map(toRow) };
  await exchange.json(200, body, NOT_KEPT);
}

function toRow({ day, kind, endpoint, requests, quantity, credits }: UsageSum): Usage["data"][number] {
  return { day, kind, endpoint, requests, quantity: seconds(quantity), unit: usageUnit(kind), credits };
}
