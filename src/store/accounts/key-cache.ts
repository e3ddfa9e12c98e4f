import { LRUCache } from "lru-cache";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Log } from "../../../core/observe/log.js";
import type { Clock } from "../../../core/ports/clock.js";
import type { KeyIdentity, KeyStore } from "../../../core/ports/key-store.js";
import { within } from "../postgres/within.js";
import { hashKey, isWellFormedKey } from "./key-secret.js";

/** How long answers are trusted, and how much is kept. Times in milliseconds. */
export interface KeyCacheRules {
  readonly activeForMs: number;
  readonly unknownForMs: number;
  /** Keys in use that are remembered; the longest unused one makes room. */
  readonly activeCount: number;
  /** Unknown keys that are remembered. They have a room of their own: guesses cannot push out keys in use. */
  readonly unknownCount: number;
  /** Look-ups at once; beyond it the store counts as unavailable. */
  readonly lookUpCount: number;
  readonly lookUpTimeoutMs: number;
  /** A key's last use is written at most this often. */
  readonly touchEveryMs: number;
}

const DEFAULT_KEY_CACHE_RULES: KeyCacheRules = {
  activeForMs: 30_000,
  unknownForMs: 5_000,
  activeCount: 10_000,
  unknownCount: 10_000,
  lookUpCount: 256,
  lookUpTimeoutMs: 3_000,
  touchEveryMs: 60_000,
};

export interface KeyCacheOptions {
  readonly findActive: (hash: Buffer) => Promise<KeyIdentity | null>;
  readonly touch: (keyId: string) => Promise<void>;
  readonly pepper: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly rules?: Partial<KeyCacheRules>;
}

interface ActiveKey {
  readonly identity: KeyIdentity;
  readonly expiresAtMs: number;
}

/**
 * Key look-ups with a short memory, so that most requests cost no query and a revoked key still ends within half a
 * minute. Keys are remembered by their keyed hash only.
 */
export class KeyCache implements KeyStore {
  readonly #options: KeyCacheOptions;
  readonly #rules: KeyCacheRules;
  readonly #active: LRUCache<string, ActiveKey>;
  /** Until when a hash is known to be unknown. */
  readonly #unknown: LRUCache<string, number>;
  readonly #touchedAtMs: LRUCache<string, number>;
  readonly #lookUps = new Map<string, Promise<KeyIdentity | null>>();

  constructor(options: KeyCacheOptions) {
    this.#options = options;
    this.#rules = { ...DEFAULT_KEY_CACHE_RULES, ...options.rules };
    this.#active = new LRUCache({ max: this.#rules.activeCount });
    this.#unknown = new LRUCache({ max: this.#rules.unknownCount });
    this.#touchedAtMs = new LRUCache({ max: this.#rules.activeCount });
  }

  async find(rawKey: string): Promise<KeyIdentity | null> {
    if (!isWellFormedKey(rawKey)) return null;
    const hash = hashKey(rawKey, this.#options.pepper);
    const name = hash.toString("base64");
    const known = this.#remembered(name);
    const identity = known === undefined ? await this.#lookUpOnce(name, hash) : known;
    if (identity !== null) this.#touch(identity.keyId);
    return identity;
  }

  /** What is still known about a hash; undefined when the store must be asked. */
  #remembered(name: string): KeyIdentity | null | undefined {
    const nowMs = this.#options.clock.nowMs();
    const active = this.#active.get(name);
    if (active !== undefined && nowMs < active.expiresAtMs) return active.identity;
    const unknownUntilMs = this.#unknown.get(name);
    return unknownUntilMs !== undefined && nowMs < unknownUntilMs ? null : undefined;
  }

  #lookUpOnce(name: string, hash: Buffer): Promise<KeyIdentity | null> {
    const running = this.#lookUps.get(name);
    if (running !== undefined) return running;
    if (this.#lookUps.size >= this.#rules.lookUpCount) {
      throw unavailable(`${this.#lookUps.size} key look-ups are waiting`);
    }
    const lookUp = this.#lookUp(name, hash).finally(() => this.#lookUps.delete(name));
    this.#lookUps.set(name, lookUp);
    return lookUp;
  }

  async #lookUp(name: string, hash: Buffer): Promise<KeyIdentity | null> {
    // The answer is as old as the question: a key revoked while it travels must not live longer for it.
    const askedAtMs = this.#options.clock.nowMs();
    let identity: KeyIdentity | null;
    try {
      identity = await within(this.#rules.lookUpTimeoutMs, this.#options.findActive(hash));
    } catch (cause) {
      this.#options.log.warn({ err: cause }, "key look-up failed");
      throw unavailable("the key store does not answer", cause);
    }
    if (identity === null) {
      this.#active.delete(name);
      this.#unknown.set(name, askedAtMs + this.#rules.unknownForMs);
    } else {
      this.#unknown.delete(name);
      this.#active.set(name, { identity, expiresAtMs: askedAtMs + this.#rules.activeForMs });
    }
    return identity;
  }

  #touch(keyId: string): void {
    const nowMs = this.#options.clock.nowMs();
    const touchedAtMs = this.#touchedAtMs.get(keyId);
    if (touchedAtMs !== undefined && nowMs - touchedAtMs < this.#rules.touchEveryMs) return;
    this.#touchedAtMs.set(keyId, nowMs);
    // Nobody waits for this, and a lost date of last use is no loss.
    this.#options.touch(keyId).catch((error) => {
      this.#options.log.debug({ err: error, keyId }, "last use of a key not written");
    });
  }
}

function unavailable(reason: string, cause?: unknown): ServiceError {
  return new ServiceError("AUTH_UNAVAILABLE", `Cannot check the API key: ${reason}`, { cause });
}
