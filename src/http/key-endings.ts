import { LRUCache } from "lru-cache";
import type { KeyIdentity } from "../ports/key-store.js";

/** Ended keys that are remembered: far more than end within the five minutes for which an authorization is reused. */
const REMEMBERED = 10_000;

/**
 * Keys that have ended while the service runs. Who works with one is told at once, and answers about it that are still
 * remembered somewhere, or on their way, count no more. An ended key never comes back.
 */
export class KeyEndings {
  readonly #ended = new LRUCache<string, true>({ max: REMEMBERED });
  readonly #watchers = new Map<string, Set<() => void>>();

  /** @param name a key's id, or a grant's */
  end(name: string): void {
    this.#ended.set(name, true);
    for (const tell of [...(this.#watchers.get(name) ?? [])]) tell();
  }

  hasEnded(identity: KeyIdentity): boolean {
    return this.#ended.has(nameOf(identity));
  }

  /** Calls `onEnd` when the key ends. Returns how to stop watching. */
  watch(identity: KeyIdentity, onEnd: () => void): () => void {
    const name = nameOf(identity);
    const watchers = this.#watchers.get(name) ?? new Set();
    this.#watchers.set(name, watchers.add(onEnd));
    return () => {
      watchers.delete(onEnd);
      if (watchers.size === 0 && this.#watchers.get(name) === watchers) this.#watchers.delete(name);
    };
  }

  isWatched(name: string): boolean {
    return this.#watchers.has(name);
  }

  /** Ids of keys and grants that somebody works with for longer than a request. */
  get watched(): readonly string[] {
    return [...this.#watchers.keys()];
  }
}

function nameOf({ keyId, grantId }: KeyIdentity): string {
  return grantId ?? keyId;
}
