import { setTimeout as sleep } from "node:timers/promises";
import { tooManyRequests, WORK_OF } from "../../../core/domain/usage/concurrency.js";
import type { Clock } from "../../../core/ports/clock.js";
import { TooManyAtOnce } from "./hold-changes.js";
import type { HoldId, HoldLimit, NewHold } from "./holds.js";

/** A hold is settled moments after its answer, also on other services: so long, and so often, a place is waited for. */
const SETTLING_PAUSES_MS = [20, 60, 120, 300];
/** No try begins later: a slow database, asked five times, would take longer than clients wait, and look as if it were away. */
const MOST_WAITED_MS = SETTLING_PAUSES_MS.reduce((sum, pauseMs) => sum + pauseMs, 0);

/**
 * Places of organizations for work at a time, which holds in work take up on all services together. Of its own holds this
 * service knows first that their work is over: the next request need not wait until that is written.
 */
export class Places {
  readonly #clock: Clock;
  /** By organization. */
  readonly #over = new Map<string, Set<string>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The hold's work is over, and `settled` when the database knows. */
  leave({ id, organizationId }: HoldId, settled: Promise<unknown>): void {
    const over = this.#over.get(organizationId) ?? new Set();
    this.#over.set(organizationId, over.add(id));
    const forget = () => {
      over.delete(id);
      if (over.size === 0 && this.#over.get(organizationId) === over) this.#over.delete(organizationId);
    };
    settled.then(forget, forget);
  }

  limit(organizationId: string, atOnce: number): HoldLimit {
    // Read at each try: more may be over by then.
    return {
      atOnce,
      over: { [Symbol.iterator]: () => [...(this.#over.get(organizationId) ?? [])].values() },
    };
  }

  /**
   * Does `open`, again for a moment while it finds no place.
   * @throws {ServiceError} `TOO_MANY_REQUESTS`, and what else `open` throws
   */
  async take<T>({ kind, limit }: Pick<NewHold, "kind" | "limit">, open: () => Promise<T>): Promise<T> {
    const beganAtMs = this.#clock.nowMs();
    for (const pauseMs of [...SETTLING_PAUSES_MS, null]) {
      try {
        return await open();
      } catch (error) {
        if (!(error instanceof TooManyAtOnce)) throw error;
      }
      if (pauseMs === null || this.#clock.nowMs() - beganAtMs >= MOST_WAITED_MS) break;
      await sleep(pauseMs);
    }
    throw tooManyRequests(WORK_OF[kind], limit?.atOnce ?? 0);
  }
}
