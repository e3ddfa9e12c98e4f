import { LRUCache } from "lru-cache";
import type { Clock } from "../../../core/ports/clock.js";
import type { AttemptRules, Attempts } from "../../../core/ports/console-store.js";
import { ConsoleError } from "./console-error.js";

/** Rules, and what it is that they limit: attempts of two kinds by one name count apart. */
export interface LimitedAttempts extends AttemptRules {
  readonly kind: string;
}

const MINUTE_MS = 60_000;
/** Passwords of one person, at sign-in and wherever else one is asked for. */
export const SIGN_INS_OF_EMAIL: LimitedAttempts = {
  kind: "sign-ins of an e-mail address",
  attempts: 10,
  windowMs: 15 * MINUTE_MS,
};
/** Of passwords, links and sign-ups. A whole office may stand behind one address. */
export const TRIES_OF_ADDRESS: LimitedAttempts = {
  kind: "tries of a network address",
  attempts: 100,
  windowMs: 15 * MINUTE_MS,
};
/** Each brings free credits. */
export const SIGN_UPS_OF_ADDRESS: LimitedAttempts = {
  kind: "sign-ups of a network address",
  attempts: 30,
  windowMs: 60 * MINUTE_MS,
};
/** Names that are remembered as closed; the one that was asked for least lately makes room. */
const MOST_CLOSED = 50_000;
/** A flood of a closed name asks the database this often. Another service that clears the name is heard of so late. */
const CLOSED_FOR_MS = 1_000;

interface Closed {
  readonly seconds: number;
  readonly untilMs: number;
}

/**
 * Counts attempts by name within a window, for all services together. An attempt counts before it is known to fail, so that
 * many at once do not slip by.
 */
export class AttemptLimiter {
  readonly #rules: LimitedAttempts;
  readonly #attempts: Attempts;
  readonly #clock: Clock;
  // `max` would set the room for all of them aside at once.
  readonly #closed = new LRUCache<string, Closed>({ maxSize: MOST_CLOSED, sizeCalculation: () => 1 });

  constructor(rules: LimitedAttempts, attempts: Attempts, clock: Clock) {
    this.#rules = rules;
    this.#attempts = attempts;
    this.#clock = clock;
  }

  /** @throws {ConsoleError} `too_many_attempts` */
  async take(name: string): Promise<void> {
    const closed = this.#closed.get(name);
    if (closed !== undefined && closed.untilMs > this.#clock.nowMs()) throw tooMany(closed.seconds);
    const seconds = await this.#attempts.take(this.#of(name), this.#rules);
    if (seconds === null) return;
    this.#closed.set(name, { seconds, untilMs: this.#clock.nowMs() + CLOSED_FOR_MS });
    throw tooMany(seconds);
  }

  /** One attempt was no guess: it does not count. Others stay as they are. */
  async giveBack(name: string): Promise<void> {
    this.#closed.delete(name);
    await this.#attempts.giveBack(this.#of(name));
  }

  /** The attempt was a good one: none before it counts any more. */
  async clear(name: string): Promise<void> {
    this.#closed.delete(name);
    await this.#attempts.clear(this.#of(name));
  }

  #of(name: string): string {
    return `${this.#rules.kind} ${name}`;
  }
}

function tooMany(seconds: number): ConsoleError {
  return new ConsoleError("too_many_attempts", `too many attempts; try again in ${seconds} s`, seconds);
}
