/** How often a child may be restarted before its owner is told that it does not come back. */
export interface RestartLimits {
  readonly maxRestarts: number;
  readonly windowMs: number;
}

/** Of everything that the service keeps running: workers, front threads, the private database. */
export const RESTART_LIMITS: RestartLimits = { maxRestarts: 5, windowMs: 30_000 };

/** Counts restarts in a sliding window. Pure: the caller brings the time. */
export class RestartBudget {
  readonly #limits: RestartLimits;
  #restartsAtMs: number[] = [];

  constructor(limits: RestartLimits = RESTART_LIMITS) {
    this.#limits = limits;
  }

  /** Takes one restart out of the budget; false when the window holds `maxRestarts` already. */
  take(nowMs: number): boolean {
    const { maxRestarts, windowMs } = this.#limits;
    this.#restartsAtMs = this.#restartsAtMs.filter((atMs) => nowMs - atMs < windowMs);
    if (this.#restartsAtMs.length >= maxRestarts) return false;
    this.#restartsAtMs.push(nowMs);
    return true;
  }
}
