import { ServiceError } from "../domain/errors.js";
import type { ConcurrencyLimits, WorkKind } from "../domain/usage/concurrency.js";
import type { KeyIdentity } from "../ports/key-store.js";

const CALLED: Readonly<Record<WorkKind, string>> = {
  synthesis: "synthesis requests",
  files: "file transcriptions",
  live: "live sessions",
};

/** How much of each kind of work runs for each organization right now. What is too much is refused, never queued. */
export class OrganizationSlots {
  readonly #limitsOf: (identity: KeyIdentity) => ConcurrencyLimits;
  /** Organizations with nothing running have no entry. */
  readonly #taken = new Map<string, number>();

  constructor(limitsOf: (identity: KeyIdentity) => ConcurrencyLimits) {
    this.#limitsOf = limitsOf;
  }

  /** @throws {ServiceError} `TOO_MANY_REQUESTS` when `take` would */
  check(identity: KeyIdentity, kind: WorkKind): void {
    const limit = this.#limitsOf(identity)[kind];
    if (this.#count(nameOf(identity, kind)) < limit) return;
    throw new ServiceError(
      "TOO_MANY_REQUESTS",
      `an organization may have at most ${limit} ${CALLED[kind]} at once: wait until one has ended`,
    );
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
