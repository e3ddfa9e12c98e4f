import { ServiceError } from "../../core/domain/errors.js";
import {
  type ConcurrencyLimits,
  tooManyRequests,
  type WorkKind,
} from "../../core/domain/usage/concurrency.js";
import type { StopReason } from "../../core/ports/conversations.js";
import type { KeyIdentity } from "../../core/ports/key-store.js";
import type { Exchange } from "./exchange.js";
import type { RouteDeps } from "./route.js";

/** Something that runs for a client and can be asked to come to an end. */
export interface Work {
  /** The service stops: say so to the client and finish within the deadline. */
  goingAway(deadlineSeconds: number): void;
  /** Time is up. */
  stop(): void;
}

/** What runs for clients right now, so that the service can stop without cutting anybody off. */
export class RunningWork {
  readonly #works = new Set<Work>();
  #isDraining = false;
  #deadlineSeconds = 0;
  #onEmpty: (() => void) | null = null;

  get isDraining(): boolean {
    return this.#isDraining;
  }

  get size(): number {
    return this.#works.size;
  }

  /** Returns what to call when the work is over; calling it twice does nothing. */
  add(work: Work): () => void {
    this.#works.add(work);
    // It slipped in between the check and here.
    if (this.#isDraining) work.goingAway(this.#deadlineSeconds);
    return () => {
      if (this.#works.delete(work) && this.#works.size === 0) this.#onEmpty?.();
    };
  }

  /** Announces the end to all, and stops whatever is still there when the deadline has passed. */
  async drain(deadlineMs: number): Promise<void> {
    this.#isDraining = true;
    this.#deadlineSeconds = Math.ceil(deadlineMs / 1_000);
    for (const work of [...this.#works]) work.goingAway(this.#deadlineSeconds);
    await this.#empty(deadlineMs);
    for (const work of [...this.#works]) work.stop();
    // Stopped work still writes its last answer.
    await this.#empty(Math.min(deadlineMs, 1_000));
  }

  async #empty(withinMs: number): Promise<void> {
    if (this.#works.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#onEmpty = null;
  }
}

/**
 * Runs a conversation until its answer is complete. It ends early, within one model step, when the client leaves, when
 * the answer cannot be delivered, and when the service has waited long enough for it.
 */
export async function converse(
  exchange: Exchange,
  deps: Pick<RouteDeps, "running">,
  conversation: { stop(reason: StopReason): void },
  answer: () => Promise<void>,
): Promise<void> {
  const { signal } = exchange.request;
  const onGone = () => conversation.stop(stopReason(signal.reason));
  const over = deps.running.add({ goingAway: () => {}, stop: () => conversation.stop("service-stops") });
  signal.addEventListener("abort", onGone, { once: true });
  try {
    if (signal.aborted) throw new ServiceError("CANCELLED", "the client is gone");
    await answer();
  } catch (thrown) {
    conversation.stop(stopReason(thrown));
    throw thrown;
  } finally {
    signal.removeEventListener("abort", onGone);
    over();
  }
}

/** A connection that was lost by our own thread is not the client's doing, and what did not go out is given back. */
function stopReason(reason: unknown): StopReason {
  return reason instanceof ServiceError && reason.code === "WORKER_LOST" ? "service-stops" : "client-left";
}

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
