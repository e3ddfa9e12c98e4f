/** The last heartbeat of a running service, in any form that changes with each heartbeat. */
export interface LastHeartbeat {
  readonly id: string;
  readonly heartbeat: string;
}

/** The share of `silentMs` that the time between two looks counts at most. */
const MOST_OF_A_LOOK = 1 / 3;

/**
 * Finds services whose heartbeat has not changed for `silentMs` by this process's monotonic clock. The time
 * in a heartbeat does not matter, so a wall clock that jumps neither ends a service nor keeps it alive. A
 * long time without a look counts as a short one: the whole machine may have been paused, with all services.
 */
export class HeartbeatMonitor {
  readonly #silentMs: number;
  readonly #seen = new Map<string, { readonly heartbeat: string; unchangedMs: number }>();
  #lookedAtMs: number | null = null;

  constructor(silentMs: number) {
    this.#silentMs = silentMs;
  }

  /** Records the current heartbeats. Returns those that are too old. */
  silentAmong(current: readonly LastHeartbeat[], nowMs: number): LastHeartbeat[] {
    const sinceLookMs = Math.min(nowMs - (this.#lookedAtMs ?? nowMs), MOST_OF_A_LOOK * this.#silentMs);
    this.#lookedAtMs = nowMs;
    const ids = new Set(current.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
    return current.filter(({ id, heartbeat }) => {
      const seen = this.#seen.get(id);
      if (seen?.heartbeat === heartbeat) {
        seen.unchangedMs += sinceLookMs;
        return seen.unchangedMs >= this.#silentMs;
      }
      this.#seen.set(id, { heartbeat, unchangedMs: 0 });
      return false;
    });
  }

  /**
   * Restarts the timers of all services, after the database was unreachable and no heartbeat could arrive.
   */
  reset(): void {
    this.#seen.clear();
  }
}
