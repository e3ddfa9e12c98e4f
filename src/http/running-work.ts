import { ServiceError } from "../../core/domain/errors.js";
import {
  type ConcurrencyLimits,
  tooManyRequests,
  type WorkKind,
} from "../../core/domain/usage/concurrency.js";
import type { StopReason } from "../../core/ports/conversations.js";
import type { KeyIdentity } from "../../core/ports/key-store.js";
import type { Exchange } from "./exchange.js";

export interface Work {
  /** Called when the service is stopping: notify the client, and finish before the deadline. */
  goingAway(deadlineSeconds: number): void;
  stop(): void;
}

/** Tracks the work for all clients, so that the service can finish it before stopping. */
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

  /** @returns a function to call when the work is done; further calls have no effect */
  add(work: Work): () => void {
    this.#works.add(work);
    // Draining may have started since `isDraining` was checked.
    if (this.#isDraining) work.goingAway(this.#deadlineSeconds);
    return () => {
      if (this.#works.delete(work) && this.#works.size === 0) this.#onEmpty?.();
    };
  }

  /** Notifies all work, and after the deadline stops what is left. */
  async drain(deadlineMs: number): Promise<void> {
    this.#isDraining = true;
    this.#deadlineSeconds = Math.ceil(deadlineMs / 1_000);
    for (const work of [...this.#works]) work.goingAway(this.#deadlineSeconds);
    await this.#empty(deadlineMs);
    for (const work of [...this.#works]) work.stop();
    // Stopped work still sends its last response.
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

/** Share of the budget that one organization may use. */
const ORGANIZATION_SHARE = 1 / 2;

export interface SpeechShare {
  /** Replaces the estimate with the actual size. */
  settle(bytes: number): void;
  /** Releases the share; may be called twice. */
  release(): void;
}

/**
 * Limits the memory for unsent speech, in total and for each organization. A response that might not fit, by
 * an upper estimate, is rejected before any of it is produced. A single response always fits.
 */
export class SpeechBudget {
  readonly #capacityBytes: number;
  #takenBytes = 0;
  /** Bytes by organization; no entry for organizations without speech in memory. */
  readonly #takenBy = new Map<string, number>();

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /**
   * @param bytes upper estimate of what the response holds at any time
   * @throws {ServiceError} `TOO_MANY_REQUESTS` if the organization holds too much, `ENGINE_BUSY` if all
   *   organizations together do
   */
  take(organizationId: string, bytes: number): SpeechShare {
    this.#check(organizationId, bytes);
    let taken = 0;
    let isReleased = false;
    const settle = (settled: number) => {
      if (isReleased) return;
      this.#count(organizationId, settled - taken);
      taken = settled;
    };
    settle(bytes);
    return {
      settle,
      release: () => {
        settle(0);
        isReleased = true;
      },
    };
  }

  #check(organizationId: string, bytes: number): void {
    const own = this.#takenBy.get(organizationId) ?? 0;
    if (own > 0 && own + bytes > this.#capacityBytes * ORGANIZATION_SHARE) {
      throw new ServiceError(
        "TOO_MANY_REQUESTS",
        `the responses of an organization may hold ${megabytes(this.#capacityBytes * ORGANIZATION_SHARE)} MB of speech at ` +
          `once, received ${megabytes(bytes)} MB more than ${megabytes(own)} MB: wait until one has ended, or request it as a ` +
          "stream",
      );
    }
    if (this.#takenBytes > 0 && this.#takenBytes + bytes > this.#capacityBytes) {
      throw new ServiceError(
        "ENGINE_BUSY",
        "the service has no memory left for unsent speech: try again in a moment, or request the speech as a stream",
      );
    }
  }

  #count(organizationId: string, bytes: number): void {
    this.#takenBytes += bytes;
    const own = (this.#takenBy.get(organizationId) ?? 0) + bytes;
    if (own > 0) this.#takenBy.set(organizationId, own);
    else this.#takenBy.delete(organizationId);
  }
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}

/**
 * Runs a conversation until its response is complete. It ends early, within one model step, if the client
 * leaves, the response cannot be delivered, or the service's drain deadline passes.
 */
export async function converse(
  exchange: Exchange,
  deps: { readonly running: RunningWork },
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

/** If our own front thread lost the connection, the client did not leave, and unsent work is refunded. */
function stopReason(reason: unknown): StopReason {
  return reason instanceof ServiceError && reason.code === "WORKER_LOST" ? "service-stops" : "client-left";
}

/**
 * Limits how much of each kind of work runs for each organization in this service. Excess work is rejected
 * before it costs anything, and never queued. Credit holds are limited across all services when they are
 * opened.
 */
export class OrganizationSlots {
  readonly #limitsOf: (identity: KeyIdentity) => ConcurrencyLimits;
  /** Slots in use by organization; no entry for organizations without running work. */
  readonly #taken = new Map<string, number>();

  constructor(limitsOf: (identity: KeyIdentity) => ConcurrencyLimits) {
    this.#limitsOf = limitsOf;
  }

  limitOf(identity: KeyIdentity, kind: WorkKind): number {
    return this.#limitsOf(identity)[kind];
  }

  /** @throws {ServiceError} `TOO_MANY_REQUESTS` if `take` would */
  check(identity: KeyIdentity, kind: WorkKind, count = 1): void {
    const limit = this.limitOf(identity, kind);
    if (this.#count(nameOf(identity, kind)) + count > limit) throw tooManyRequests(kind, limit, count);
  }

  /**
   * Takes one slot, or `count` slots.
   *
   * @returns a function that releases the slots; further calls have no effect
   * @throws {ServiceError} `TOO_MANY_REQUESTS` if the organization has too few free slots
   */
  take(identity: KeyIdentity, kind: WorkKind, count = 1): () => void {
    this.check(identity, kind, count);
    const name = nameOf(identity, kind);
    this.#taken.set(name, this.#count(name) + count);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const left = this.#count(name) - count;
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
