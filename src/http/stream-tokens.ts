import { createHash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Clock } from "../ports/clock.js";
import type { KeyIdentity } from "../ports/key-store.js";

/** How long a token may wait to be used, in seconds. */
export const TOKEN_LIFETIME_S = 60;
/** Beyond this the token that has waited longest is forgotten. */
const MOST_TOKENS = 100_000;
const TOKEN_PATTERN = /^st-svc-[0-9a-f]{48}$/;

interface Waiting {
  readonly identity: KeyIdentity;
  readonly untilMs: number;
}

/**
 * Tokens that open one live socket each, for browsers, which must not know the key. They live in memory, by a hash only:
 * a service that was restarted knows none of the tokens from before.
 */
export class StreamTokens {
  readonly #clock: Clock;
  readonly #waiting = new LRUCache<string, Waiting>({ max: MOST_TOKENS });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  issue(identity: KeyIdentity): string {
    const token = `st-svc-${randomBytes(24).toString("hex")}`;
    this.#waiting.set(nameOf(token), { identity, untilMs: this.#clock.nowMs() + TOKEN_LIFETIME_S * 1_000 });
    return token;
  }

  /** Who the token was made for; null when it is unknown, late or used. It cannot be used again. */
  redeem(token: string): KeyIdentity | null {
    if (!isToken(token)) return null;
    const name = nameOf(token);
    const waiting = this.#waiting.get(name);
    this.#waiting.delete(name);
    return waiting !== undefined && waiting.untilMs > this.#clock.nowMs() ? waiting.identity : null;
  }
}

/** Whether this looks like a token rather than a key. */
export function isToken(credential: string): boolean {
  return TOKEN_PATTERN.test(credential);
}

function nameOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
