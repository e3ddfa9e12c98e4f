import {
  type ConcurrencyLimits,
  tooManyRequests,
  type WorkKind,
} from "../../core/domain/usage/concurrency.js";
import type { KeyIdentity } from "../../core/ports/key-store.js";

/**
 * How much of each kind of work runs for each organization in this service right now. What is too much is refused, never
 * queued, and before it costs anything; holds are counted over all services when they are opened.
 */
export class OrganizationSlots {
  readonly #limitsOf: (identity: KeyIdentity) => ConcurrencyLimits;
  /** Organizations with nothing running have no entry. */
  readonly #taken = new Map<string, number>();

  constructor(limitsOf: (identity: KeyIdentity) => ConcurrencyLimits) {
    this.#limitsOf = limitsOf;
  }

  /** How much of it the organization may have at once. */
  limitOf(identity: KeyIdentity, kind: WorkKind): number {
    return this.#limitsOf(identity)[kind];
  }

  /** @throws {ServiceError} `TOO_MANY_REQUESTS` when `take` would */
  check(identity: KeyIdentity, kind: WorkKind): void {
    const limit = this.limitOf(identity, kind);
    if (this.#count(nameOf(identity, kind)) >= limit) throw tooManyRequests(kind, limit);
  }

  /**
   * @returns what to call when the work is over; calling it twice does nothing
   * @throws {ServiceError} `TOO_MANY_REQUESTS` when the organization has as many as it may
   */
  take(identity: KeyIdentity, kind: WorkKind): () => void {
    this.check(identity, kind);
    const name = nameOf(identity, kind);
    this.#taken.set(name, this.#count(name) + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const left = this.#count(name) - 1;
      if (left > 0) this.#taken.set(name, left);
      else this.#taken.delete(name);
    };
  }

  #count(name: string): number {
    return this.#taken.get(name) ?? 0;
  }
}

function nameOf(identity: KeyIdentity, kind: WorkKind): string {
  return `${kind} ${identity.organizationId}`;
}
