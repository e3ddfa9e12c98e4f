import { LRUCache } from "lru-cache";
import { ServiceError } from "../../../core/domain/errors.js";
import { seconds } from "../../../core/domain/rounded.js";
import type { UsagePeriod } from "../../../core/domain/usage/period.js";
import type { AccountReports, KeyReport, UsageSum } from "../../../core/ports/account-reports.js";
import type { Clock } from "../../../core/ports/clock.js";
import type { Credits } from "../../../core/ports/console-store.js";
import { type Balance, type KeyInfo, type Usage, usageUnit } from "../../../core/protocol/account-schemas.js";
import { NO_QUERY } from "../../../core/protocol/catalog-schemas.js";
import { readQuery } from "../../../core/protocol/query.js";
import { parseUsageQuery } from "../../../core/protocol/usage-query.js";
import { type AdmitDeps, admit } from "../admit.js";
import type { Handlers, RouteDeps } from "../router.js";
import { TOKEN_LIFETIME_S } from "../signed-credentials.js";

type AccountDeps = AdmitDeps & Pick<RouteDeps, "reports" | "clock">;

const NO_STORE = { "cache-control": "no-store" };

/** Handlers for the credits, usage and key of the caller's organization. */
export function accountHandlers(
  deps: AccountDeps,
): Handlers<"GET /v1/balance" | "GET /v1/key" | "GET /v1/usage"> {
  const reports = new PolledReports(deps.reports, deps.clock);
  return {
    "GET /v1/balance": async (exchange) => {
      const { identity } = await admit(exchange, deps, null);
      readQuery(NO_QUERY, exchange.request.query);
      const { balance, held, available, tier } = await reports.credits(identity.organizationId);
      const body: Balance = { balance, held, available, tier };
      await exchange.json(200, body, NO_STORE);
    },
    "GET /v1/key": async (exchange) => {
      const { identity } = await admit(exchange, deps, null);
      readQuery(NO_QUERY, exchange.request.query);
      const { keyId } = identity;
      await exchange.json(200, toKeyInfo(keyId, await deps.reports.key(keyId)), NO_STORE);
    },
    "GET /v1/usage": async (exchange) => {
      const { identity } = await admit(exchange, deps, null);
      const period = parseUsageQuery(exchange.request.query, new Date());
      const sums = await reports.usage(identity.organizationId, period);
      const body: Usage = { ...period, data: sums.map(toRow) };
      await exchange.json(200, body, NO_STORE);
    },
  };
}

function toKeyInfo(id: string, key: KeyReport | null): KeyInfo {
  return {
    id,
    name: key?.name ?? null,
    monthly_credits: key?.monthlyCredits ?? null,
    month: key?.month.month ?? new Date().toISOString().slice(0, 7),
    credits: key?.month.credits ?? 0,
    held: key?.month.held ?? 0,
    endpoints: key === null || key.endpoints === null ? null : [...key.endpoints],
    expires_at: key?.expiresAt?.toISOString() ?? null,
  };
}

function toRow({ day, kind, endpoint, requests, quantity, credits }: UsageSum): Usage["data"][number] {
  return { day, kind, endpoint, requests, quantity: seconds(quantity), unit: usageUnit(kind), credits };
}

/** Issues short-lived tokens with which a browser opens a live socket. */
export function tokenHandlers(
  deps: AdmitDeps & Pick<RouteDeps, "tokens">,
): Handlers<"POST /v1/stream/token"> {
  return {
    "POST /v1/stream/token": async (exchange) => {
      const { identity } = await admit(exchange, deps, null);
      readQuery(NO_QUERY, exchange.request.query);
      const body = { token: deps.tokens.issue(identity), expires_in: TOKEN_LIFETIME_S };
      await exchange.json(200, body, NO_STORE);
    },
  };
}

/** Reading one row by its key is cheap, so one query a second is fine; clients want a fresh balance. */
const BALANCE_FOR_MS = 1_000;
/** Longer, because this sums all charges of the period. */
const USAGE_FOR_MS = 10_000;
/** Most usage queries that an organization may send at once; afterwards one per second. */
const USAGE_AT_ONCE = 10;
const USAGE_EVERY_MS = 1_000;
const MOST_BALANCES = 10_000;
/** Number of cached reports. A year of usage on all paths has about 3,000 rows. */
const MOST_USAGES = 64;
const MOST_PACES = 10_000;

interface Answer<T> {
  readonly untilMs: number;
  readonly value: Promise<T>;
}

/** Caches reports for clients that poll, to spare the database. */
export class PolledReports implements Omit<AccountReports, "key"> {
  readonly #reports: AccountReports;
  readonly #clock: Clock;
  readonly #balances = new LRUCache<string, Answer<Credits>>({ max: MOST_BALANCES });
  readonly #usages = new LRUCache<string, Answer<readonly UsageSum[]>>({ max: MOST_USAGES });
  /** When the rate limit has recovered from all of an organization's queries, by organization. */
  readonly #paces = new LRUCache<string, number>({ max: MOST_PACES });

  constructor(reports: AccountReports, clock: Clock) {
    this.#reports = reports;
    this.#clock = clock;
  }

  /** Returns credits that are at most a second old. @throws {ServiceError} `AUTH_UNAVAILABLE` */
  credits(organizationId: string): Promise<Credits> {
    const ask = () => this.#reports.credits(organizationId);
    return this.#known(this.#balances, organizationId, BALANCE_FOR_MS, ask);
  }

  /**
   * Returns usage that is at most ten seconds old. @throws {ServiceError} `AUTH_UNAVAILABLE`,
   * `TOO_MANY_REQUESTS`
   */
  async usage(organizationId: string, period: UsagePeriod): Promise<readonly UsageSum[]> {
    const name = `${organizationId} ${period.from} ${period.to}`;
    return this.#known(this.#usages, name, USAGE_FOR_MS, () => {
      this.#pace(organizationId);
      return this.#reports.usage(organizationId, period);
    });
  }

  /** Returns a cached or running query. A failed query is not cached. */
  #known<T>(
    answers: LRUCache<string, Answer<T>>,
    name: string,
    forMs: number,
    ask: () => Promise<T>,
  ): Promise<T> {
    const known = answers.get(name);
    if (known !== undefined && known.untilMs > this.#clock.nowMs()) return known.value;
    const answer = { untilMs: this.#clock.nowMs() + forMs, value: ask() };
    answers.set(name, answer);
    answer.value.catch(() => {
      if (answers.peek(name) === answer) answers.delete(name);
    });
    return answer.value;
  }

  #pace(organizationId: string): void {
    const nowMs = this.#clock.nowMs();
    const earnedMs = Math.max(nowMs, this.#paces.get(organizationId) ?? 0) + USAGE_EVERY_MS;
    if (earnedMs > nowMs + USAGE_AT_ONCE * USAGE_EVERY_MS) {
      throw new ServiceError(
        "TOO_MANY_REQUESTS",
        `an organization may request its usage ${USAGE_AT_ONCE} times at once, then once a second`,
      );
    }
    this.#paces.set(organizationId, earnedMs);
  }
}
