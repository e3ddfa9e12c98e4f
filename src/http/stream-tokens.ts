import { randomBytes } from "node:crypto";
import type { SharedClock } from "../ports/clock.js";
import type { KeyIdentity } from "../ports/key-store.js";
import type { TokenUses } from "../ports/token-uses.js";
import { SignedText } from "./signed-text.js";

/** How long a token may wait to be used, in seconds. */
export const TOKEN_LIFETIME_S = 60;
const LIFETIME_MS = TOKEN_LIFETIME_S * 1_000;
/** Two services may have looked at the shared clock some seconds apart. */
const CLOCKS_APART_MS = 10_000;
const PREFIX = "st-svc-";
const ID_BYTES = 16;

export interface StreamTokensParts {
  /** Of all services on one database. */
  readonly secret: Uint8Array;
  readonly clock: SharedClock;
  readonly uses: TokenUses;
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
    return this.#texts.sign([id, Math.ceil(this.#parts.clock.nowMs() + LIFETIME_MS), identity]);
  }

  /**
   * Who the token was made for; null when it is unknown, late or used, or its key has ended. It cannot be used again.
   *
   * @throws {ServiceError} `AUTH_UNAVAILABLE` when nobody can say whether it was used
   */
  async redeem(token: string): Promise<KeyIdentity | null> {
    const content = this.#texts.read(token) as readonly [string, number, KeyIdentity] | null;
    if (content === null) return null;
    const [id, untilMs, identity] = content;
    const leftMs = untilMs - this.#parts.clock.nowMs();
    // More than it was given is left when the shared clock was set back: it is not to last for as long as that.
    if (leftMs <= 0 || leftMs > LIFETIME_MS + CLOCKS_APART_MS) return null;
    const isFirst = await this.#parts.uses.use({ id: Buffer.from(id, "base64url"), untilMs, identity });
    return isFirst ? identity : null;
  }
}

/** Whether this looks like a token rather than a key. */
export function isToken(credential: string): boolean {
  return credential.startsWith(PREFIX);
}
