import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../core/ports/clock.js";
import type { KeyIdentity, KeyStore } from "../../core/ports/key-store.js";
import type { KeyEndings } from "../http/key-endings.js";

const REUSED_FOR_MS = 5 * 60_000;
const REMEMBERED_KEYS = 10_000;

/**
 * Live authorizations are reused for five minutes, unless the key is temporary or is known to have ended. Keys are
 * remembered by a hash only.
 */
export class LiveAuthorization implements KeyStore {
  readonly #keys: KeyStore;
  readonly #clock: Clock;
  readonly #endings: KeyEndings;
  readonly #known = new LRUCache<string, { readonly identity: KeyIdentity; readonly untilMs: number }>({
    max: REMEMBERED_KEYS,
  });

  constructor(keys: KeyStore, clock: Clock, endings: KeyEndings) {
    this.#keys = keys;
    this.#clock = clock;
    this.#endings = endings;
  }

  async find(rawKey: string): Promise<KeyIdentity | null> {
    const name = createHash("sha256").update(rawKey).digest("base64");
    const known = this.#known.get(name);
    if (
      known !== undefined &&
      known.untilMs > this.#clock.nowMs() &&
      !this.#endings.hasEnded(known.identity)
    ) {
      return known.identity;
    }
    const identity = await this.#keys.find(rawKey);
    if (identity === null) this.#known.delete(name);
    else if (identity.grant === undefined)
      this.#known.set(name, { identity, untilMs: this.#clock.nowMs() + REUSED_FOR_MS });
    return identity;
  }
}
