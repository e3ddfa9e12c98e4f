/** The last heartbeat of a running service, in any form that changes with each heartbeat. */
export interface LastHeartbeat {
  readonly id: string;
  readonly heartbeat: string;
}

/**
 * Finds services whose heartbeat has not changed for `silentMs`, by this process's monotonic clock. The time
 * in a heartbeat is irrelevant, so a wall clock that jumps neither ends a service nor keeps it alive.
 */
export class HeartbeatMonitor {
  readonly #silentMs: number;
  readonly #seen = new Map<string, { readonly heartbeat: string; readonly sinceMs: number }>();

  constructor(silentMs: number) {
    this.#silentMs = silentMs;
  }

  /** Records the current heartbeats. Returns those that are too old. */
  silentAmong(current: readonly LastHeartbeat[], nowMs: number): LastHeartbeat[] {
    const ids = new Set(current.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
    return current.filter(({ id, heartbeat }) => {
      const seen = this.#seen.get(id);
      if (seen?.heartbeat === heartbeat) return nowMs - seen.sinceMs >= this.#silentMs;
      this.#seen.set(id, { heartbeat, sinceMs: nowMs });
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
