import { setTimeout as sleep } from "node:timers/promises";
import { tooManyRequests, WORK_OF } from "../../../core/domain/usage/concurrency.js";
import type { Clock } from "../../../core/ports/clock.js";
import { TooManyAtOnce } from "./hold-changes.js";
import type { HoldId, HoldLimit, NewHold } from "./holds.js";

/** Pauses between attempts. A hold is settled moments after its response, even on other services. */
const PAUSES_MS = [20, 60, 120, 300];
/**
 * No attempt starts later than this; otherwise a slow database would look unavailable to clients before the
 * fifth.
 */
const LAST_TRY_MS = PAUSES_MS.reduce((sum, pauseMs) => sum + pauseMs, 0);

/**
 * Enforces the concurrency limits of organizations, counted as active holds across all services. Finished
 * work frees its slot on this service immediately, before the database has recorded its end.
 */
export class ConcurrencySlots {
  readonly #clock: Clock;
  /** IDs of finished holds by organization. */
  readonly #finished = new Map<string, Set<string>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Frees the slot of a hold whose work has ended. `settled` settles when the database has recorded that. */
  release({ id, organizationId }: HoldId, settled: Promise<unknown>): void {
    const finished = this.#finished.get(organizationId) ?? new Set();
    this.#finished.set(organizationId, finished.add(id));
    const forget = () => {
      finished.delete(id);
      if (finished.size === 0 && this.#finished.get(organizationId) === finished)
        this.#finished.delete(organizationId);
    };
    settled.then(forget, forget);
  }

  limit(organizationId: string, atOnce: number): HoldLimit {
    // Iterated in each attempt, because more work may have ended by then.
    return {
      atOnce,
      over: { [Symbol.iterator]: () => [...(this.#finished.get(organizationId) ?? [])].values() },
    };
  }

  /**
   * Runs `open`, and retries for half a second while no slot is free.
   * @throws {ServiceError} `TOO_MANY_REQUESTS`, and any other error that `open` throws
   */
  async acquire<T>({ kind, limit }: Pick<NewHold, "kind" | "limit">, open: () => Promise<T>): Promise<T> {
    const startedAtMs = this.#clock.nowMs();
    for (const pauseMs of [...PAUSES_MS, null]) {
      try {
        return await open();
      } catch (error) {
        if (!(error instanceof TooManyAtOnce)) throw error;
      }
      if (pauseMs === null || this.#clock.nowMs() - startedAtMs >= LAST_TRY_MS) break;
      await sleep(pauseMs);
    }
    throw tooManyRequests(WORK_OF[kind], limit?.atOnce ?? 0);
  }
}
