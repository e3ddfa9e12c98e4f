import { LRUCache } from "lru-cache";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Log } from "../../../core/observe/log.js";
import type { Clock } from "../../../core/ports/clock.js";
import type { KeyIdentity, KeyStore } from "../../../core/ports/key-store.js";
import { ANSWER_MS, within } from "../postgres/within.js";
import { hashKey, isWellFormedKey } from "./key-secret.js";

/** Durations and sizes of the cache. */
const DEFAULT_RULES = {
  activeForMs: 30_000,
  unknownForMs: 5_000,
  /** Number of cached active keys; the least recently used is evicted. */
  activeCount: 10_000,
  /** Number of cached unknown keys. They have a separate cache, so that guesses cannot evict keys in use. */
  unknownCount: 10_000,
  /** Most concurrent look-ups; beyond it, the store counts as unavailable. */
  lookUpCount: 256,
  lookUpTimeoutMs: ANSWER_MS,
  /** Minimum time between two writes of a key's last use. */
  touchEveryMs: 60_000,
};

export type KeyCacheRules = Readonly<typeof DEFAULT_RULES>;

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
 * Caches key look-ups for a short time, so that most requests need no query but a revoked key still ends
 * within 30 s. Keys are cached only by their keyed hash.
 */
export class KeyCache implements KeyStore {
  readonly #options: KeyCacheOptions;
  readonly #rules: KeyCacheRules;
  readonly #active: LRUCache<string, ActiveKey>;
  /** When each unknown hash must be looked up again. */
  readonly #unknown: LRUCache<string, number>;
  readonly #touchedAtMs: LRUCache<string, number>;
  readonly #lookUps = new Map<string, Promise<KeyIdentity | null>>();

  constructor(options: KeyCacheOptions) {
    this.#options = options;
    this.#rules = { ...DEFAULT_RULES, ...options.rules };
    this.#active = new LRUCache({ max: this.#rules.activeCount });
    this.#unknown = new LRUCache({ max: this.#rules.unknownCount });
    this.#touchedAtMs = new LRUCache({ max: this.#rules.activeCount });
  }

  async find(rawKey: string): Promise<KeyIdentity | null> {
    if (!isWellFormedKey(rawKey)) return null;
    const hash = hashKey(rawKey, this.#options.pepper);
    const name = hash.toString("base64");
    const known = this.#cached(name);
    const identity = known === undefined ? await this.#lookUpOnce(name, hash) : known;
    if (identity !== null) this.#touch(identity.keyId);
    return identity;
  }

  /** Returns the cached result for a hash; undefined if there is none. */
  #cached(name: string): KeyIdentity | null | undefined {
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
    // The cache time starts with the query, so that a key revoked during the query does not stay valid for
    // longer.
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
    this.#options.touch(keyId).catch((error) => {
      this.#options.log.debug({ err: error, keyId }, "could not record a key's last use");
    });
  }
}

function unavailable(reason: string, cause?: unknown): ServiceError {
  return new ServiceError("AUTH_UNAVAILABLE", `Cannot check the API key: ${reason}`, { cause });
}
