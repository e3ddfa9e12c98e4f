import { randomBytes } from "node:crypto";
import type { SharedClock } from "../../core/ports/clock.js";
import type { KeyIdentity } from "../../core/ports/key-store.js";
import type { TokenUses } from "../../core/ports/token-uses.js";
import type { KeyEndings } from "./key-endings.js";
import { isCurrent, SignedText } from "./signed-text.js";

/** How long a token may wait to be used, in seconds. */
export const TOKEN_LIFETIME_S = 60;
const LIFETIME_MS = TOKEN_LIFETIME_S * 1_000;
const PREFIX = "st-svc-";
const ID_BYTES = 16;

export interface StreamTokensParts {
  /** Of all services on one database. */
  readonly secret: Uint8Array;
  readonly clock: SharedClock;
  readonly uses: TokenUses;
  readonly endings: KeyEndings;
}

/**
 * Tokens that open one live socket each, for browsers, which must not know the key. A token says by itself, signed, who it was
 * made for and until when, so the service that is given it need not be the one that made it. Which are used is remembered.
 */
export class StreamTokens {
  readonly #parts: StreamTokensParts;
  readonly #texts: SignedText;

  constructor(parts: StreamTokensParts) {
    this.#parts = parts;
    this.#texts = new SignedText(PREFIX, parts.secret);
  }

  issue(identity: KeyIdentity): string {
    const id = randomBytes(ID_BYTES).toString("base64url");
    return this.#texts.sign([id, Math.floor(this.#parts.clock.nowMs() + LIFETIME_MS), identity]);
  }

  /**
   * Who the token was made for; null when it is unknown, late or used, or its key has ended. It cannot be used again.
   *
   * @throws {ServiceError} `AUTH_UNAVAILABLE` when the store cannot say whether it was used
   */
  async redeem(token: string): Promise<KeyIdentity | null> {
    const content = this.#texts.read(token) as readonly [string, number, KeyIdentity] | null;
    if (content === null) return null;
    const { clock, uses, endings } = this.#parts;
    const [id, untilMs, identity] = content;
    if (!isCurrent(untilMs, LIFETIME_MS, clock.nowMs())) return null;
    const known = knownSince(identity, endings.count);
    const isFirst = await uses.use({ id: Buffer.from(id, "base64url"), untilMs, identity });
    return isFirst && !endings.hasEnded(known) ? known : null;
  }
}

/** The use of a token asks whether its key goes on: that is known from then on, and on this service. */
function knownSince(identity: KeyIdentity, count: number): KeyIdentity {
  const { grant } = identity;
  return grant === undefined ? identity : { ...identity, grant: { ...grant, knownSince: count } };
}

/** Whether this looks like a token rather than a key. */
export function isToken(credential: string): boolean {
  return credential.startsWith(PREFIX);
}
