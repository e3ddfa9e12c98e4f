import { LRUCache } from "lru-cache";
import type { Clock } from "../../../core/ports/clock.js";
import type { AttemptRules, Attempts } from "../../../core/ports/console-store.js";
import { ConsoleError } from "./console-error.js";

/** A kind of attempt. Each kind is counted separately, even for the same name. */
export interface LimitedAttempts extends AttemptRules {
  readonly kind: string;
}

const MINUTE_MS = 60_000;
/** Limits password attempts for one user, at sign-in and elsewhere. */
export const SIGN_INS_OF_EMAIL: LimitedAttempts = {
  kind: "sign-ins of an e-mail address",
  attempts: 10,
  windowMs: 15 * MINUTE_MS,
};
/** Limits attempts with passwords, links and sign-ups. A whole office may share one address. */
export const TRIES_OF_ADDRESS: LimitedAttempts = {
  kind: "tries of a network address",
  attempts: 100,
  windowMs: 15 * MINUTE_MS,
};
/** Limits sign-ups, because each grants free credits. */
export const SIGN_UPS_OF_ADDRESS: LimitedAttempts = {
  kind: "sign-ups of a network address",
  attempts: 30,
  windowMs: 60 * MINUTE_MS,
};
/** Limits invitations mailed by an organization, whose owners choose the recipients. */
export const INVITATION_MAILS: LimitedAttempts = {
  kind: "invitation mails of an organization",
  attempts: 30,
  windowMs: 60 * MINUTE_MS,
};
/** Limits mails that anyone can make the service send to a user. Unknown addresses are counted too. */
export const RESET_MAILS: LimitedAttempts = {
  kind: "reset mails of an e-mail address",
  attempts: 3,
  windowMs: 15 * MINUTE_MS,
};
/** Number of blocked names that are cached; the least recently used is evicted. */
const MOST_BLOCKED = 50_000;
/**
 * How often a flood of attempts for a blocked name queries the database. A `clear` by another service takes
 * this long to apply here.
 */
const BLOCKED_FOR_MS = 1_000;

interface Blocked {
  readonly seconds: number;
  readonly untilMs: number;
}

/**
 * Limits attempts by name within a time window, across all services. An attempt is counted before its outcome
 * is known, so that concurrent attempts cannot exceed the limit.
 */
export class AttemptLimiter {
  readonly #rules: LimitedAttempts;
  readonly #attempts: Attempts;
  readonly #clock: Clock;
  // `maxSize` is used because `max` would allocate all entries in advance.
  readonly #blocked = new LRUCache<string, Blocked>({ maxSize: MOST_BLOCKED, sizeCalculation: () => 1 });

  constructor(rules: LimitedAttempts, attempts: Attempts, clock: Clock) {
    this.#rules = rules;
    this.#attempts = attempts;
    this.#clock = clock;
  }

  /** @throws {ConsoleError} `too_many_attempts` */
  async take(name: string): Promise<void> {
    const blocked = this.#blocked.get(name);
    if (blocked !== undefined && blocked.untilMs > this.#clock.nowMs()) throw tooMany(blocked.seconds);
    const seconds = await this.#attempts.take(this.#of(name), this.#rules);
    if (seconds === null) return;
    this.#blocked.set(name, { seconds, untilMs: this.#clock.nowMs() + BLOCKED_FOR_MS });
    throw tooMany(seconds);
  }

  /** Gives back one attempt that was not a guess. */
  async giveBack(name: string): Promise<void> {
    this.#blocked.delete(name);
    await this.#attempts.giveBack(this.#of(name));
  }

  /** Forgets all attempts for a name, after one that succeeded. */
  async clear(name: string): Promise<void> {
    this.#blocked.delete(name);
    await this.#attempts.clear(this.#of(name));
  }

  #of(name: string): string {
    return `${this.#rules.kind} ${name}`;
  }
}

function tooMany(seconds: number): ConsoleError {
  return new ConsoleError("too_many_attempts", `too many attempts; try again in ${seconds} s`, seconds);
}
