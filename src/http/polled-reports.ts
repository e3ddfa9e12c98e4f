import { LRUCache } from "lru-cache";
import { ServiceError } from "../../core/domain/errors.js";
import type { UsagePeriod } from "../../core/domain/usage/period.js";
import type { AccountReports, UsageSum } from "../../core/ports/account-reports.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Credits } from "../../core/ports/console-store.js";

/** One row by its key, so a query a second is cheap; clients want a fresh balance. */
const BALANCE_FOR_MS = 1_000;
/** A sum over all charges of the period. */
const USAGE_FOR_MS = 10_000;
/** New sums for one organization: so many at once, then one a second. */
const USAGE_AT_ONCE = 10;
const USAGE_EVERY_MS = 1_000;
const MOST_BALANCES = 10_000;
/** A year of usage of all paths has some 3,000 rows. */
const MOST_USAGES = 64;
const MOST_PACES = 10_000;

interface Answer<T> {
  readonly untilMs: number;
  readonly value: Promise<T>;
}

/** Caches reports for clients that poll, to spare the database. */
export class PolledReports implements AccountReports {
  readonly #reports: AccountReports;
  readonly #clock: Clock;
  readonly #balances = new LRUCache<string, Answer<Credits>>({ max: MOST_BALANCES });
  readonly #usages = new LRUCache<string, Answer<readonly UsageSum[]>>({ max: MOST_USAGES });
  /** By organization: when the rate limit has recovered from all its queries. */
  readonly #paces = new LRUCache<string, number>({ max: MOST_PACES });

  constructor(reports: AccountReports, clock: Clock) {
    this.#reports = reports;
    this.#clock = clock;
  }

  /** At most a second old. @throws {ServiceError} `AUTH_UNAVAILABLE` */
  credits(organizationId: string): Promise<Credits> {
    const ask = () => this.#reports.credits(organizationId);
    return this.#known(this.#balances, organizationId, BALANCE_FOR_MS, ask);
  }

  /** At most ten seconds old. @throws {ServiceError} `AUTH_UNAVAILABLE`, `TOO_MANY_REQUESTS` */
  async usage(organizationId: string, period: UsagePeriod): Promise<readonly UsageSum[]> {
    const name = `${organizationId} ${period.from} ${period.to}`;
    return this.#known(this.#usages, name, USAGE_FOR_MS, () => {
      this.#pace(organizationId);
      return this.#reports.usage(organizationId, period);
    });
  }

  /** Returns a cached or running query; a failed one is not cached. */
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
        `an organization may ask for its usage ${USAGE_AT_ONCE} times at once, then once a second`,
      );
    }
    this.#paces.set(organizationId, earnedMs);
  }
}
