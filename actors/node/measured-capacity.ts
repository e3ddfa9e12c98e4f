/** A worker busy for this share of the time accepts no more sessions. */
const FULL_SHARE = 0.8;
/**
 * Share of the sessions below which load says nothing: a step with few sessions costs nearly as much as one
 * with many.
 */
const MIN_LOADED_SHARE = 0.25;
/** Weight of the latest report in the running mean. */
const LATEST_WEIGHT = 0.3;
/** A worker that has not reported for this long is nearly idle. */
const KEPT_MS = 10_000;

/** Estimates how many sessions a worker can take, from the share of its time that they use. */
export class MeasuredCapacity {
  readonly #configured: number;
  #share = 0;
  #reportedAtMs: number | null = null;

  /** @param configured upper limit */
  constructor(configured: number) {
    this.#configured = configured;
  }

  /** Adds a report that the worker was busy for `busyMs` since the last one. */
  report(busyMs: number, nowMs: number): void {
    const sinceMs = this.#reportedAtMs === null ? null : nowMs - this.#reportedAtMs;
    this.#reportedAtMs = nowMs;
    if (sinceMs === null || sinceMs <= 0) return;
    const share = Math.min(1, busyMs / sinceMs);
    this.#share = sinceMs > KEPT_MS ? share : this.#share + LATEST_WEIGHT * (share - this.#share);
  }

  /** Returns the number of sessions that the worker can take, given that it has `sessions` now. */
  of(sessions: number, nowMs: number): number {
    const isStale = this.#reportedAtMs === null || nowMs - this.#reportedAtMs > KEPT_MS;
    if (isStale || this.#share === 0 || sessions < MIN_LOADED_SHARE * this.#configured)
      return this.#configured;
    return Math.min(this.#configured, Math.floor((sessions * FULL_SHARE) / this.#share));
  }
}
