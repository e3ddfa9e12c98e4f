/** A worker that is at work for so much of the time takes no more sessions. */
const FULL_SHARE = 0.8;
/** Of the configured sessions: a step of few costs nearly as much as one of many, so from fewer nothing follows. */
const TELLING_PART = 0.25;
/** Of the latest word about a worker's time, in the mean that is kept. */
const LATEST_WEIGHT = 0.3;
/** A worker that has said nothing for so long has little to do. */
const KEPT_MS = 10_000;

/** How many sessions a worker takes, by how much of its time those that it has take. */
export class MeasuredCapacity {
  readonly #configured: number;
  #share = 0;
  #toldAtMs: number | null = null;

  /** @param configured the most, whatever is measured */
  constructor(configured: number) {
    this.#configured = configured;
  }

  /** It was at work for `busyMs` since it was last told of. */
  told(busyMs: number, nowMs: number): void {
    const sinceMs = this.#toldAtMs === null ? null : nowMs - this.#toldAtMs;
    this.#toldAtMs = nowMs;
    if (sinceMs === null || sinceMs <= 0) return;
    const share = Math.min(1, busyMs / sinceMs);
    this.#share = sinceMs > KEPT_MS ? share : this.#share + LATEST_WEIGHT * (share - this.#share);
  }

  /** Sessions that it takes, with `sessions` on it now. */
  of(sessions: number, nowMs: number): number {
    const isStale = this.#toldAtMs === null || nowMs - this.#toldAtMs > KEPT_MS;
    if (isStale || this.#share === 0 || sessions < TELLING_PART * this.#configured) return this.#configured;
    return Math.min(this.#configured, Math.floor((sessions * FULL_SHARE) / this.#share));
  }
}
