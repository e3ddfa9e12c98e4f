import { LRUCache } from "lru-cache";
import type { Clock } from "../../ports/clock.js";
import { ConsoleError } from "./console-error.js";

export interface AttemptRules {
  readonly attempts: number;
  readonly windowMs: number;
}

const MINUTE_MS = 60_000;
/** Passwords of one person, at sign-in and wherever else one is asked for. */
export const SIGN_INS_OF_EMAIL: AttemptRules = { attempts: 10, windowMs: 15 * MINUTE_MS };
/** Of passwords, links and sign-ups. A whole office may stand behind one address. */
export const TRIES_OF_ADDRESS: AttemptRules = { attempts: 100, windowMs: 15 * MINUTE_MS };
/** Each brings free credits. */
export const SIGN_UPS_OF_ADDRESS: AttemptRules = { attempts: 30, windowMs: 60 * MINUTE_MS };
/** Names that are remembered; the one that was quiet longest makes room. */
const MOST_NAMES = 50_000;

/** Counts attempts by name within a window. An attempt counts before it is known to fail, so that many at once do not slip by. */
export class AttemptLimiter {
  readonly #rules: AttemptRules;
  readonly #clock: Clock;
  readonly #counts = new LRUCache<string, { readonly count: number; readonly untilMs: number }>({
    max: MOST_NAMES,
  });

  constructor(rules: AttemptRules, clock: Clock) {
    this.#rules = rules;
    this.#clock = clock;
  }

  /** @throws {ConsoleError} `too_many_attempts` */
  take(name: string): void {
    const nowMs = this.#clock.nowMs();
    const known = this.#counts.get(name);
    const current = known !== undefined && known.untilMs > nowMs ? known : null;
    if (current !== null && current.count >= this.#rules.attempts) {
      const seconds = Math.ceil((current.untilMs - nowMs) / 1_000);
      throw new ConsoleError("too_many_attempts", `too many attempts: wait ${seconds} s`, seconds);
    }
    const untilMs = current?.untilMs ?? nowMs + this.#rules.windowMs;
    this.#counts.set(name, { count: (current?.count ?? 0) + 1, untilMs });
  }

  /** One attempt was no guess: it does not count. Others stay as they are. */
  giveBack(name: string): void {
    const known = this.#counts.get(name);
    if (known !== undefined && known.count > 0) this.#counts.set(name, { ...known, count: known.count - 1 });
  }

  /** The attempt was a good one: none before it counts any more. */
  clear(name: string): void {
    this.#counts.delete(name);
  }
}
