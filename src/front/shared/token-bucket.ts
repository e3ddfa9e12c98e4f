export interface BucketSize {
  /** Tokens at the beginning, and at most. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Bounds how often something happens. The clock is asked only when tokens are short: taking one costs nothing. */
export class TokenBucket {
  readonly #size: BucketSize;
  readonly #nowMs: () => number;
  #tokens: number;
  #filledAtMs: number;

  /** @param share of the burst that is there at first: the rest comes with time */
  constructor(size: BucketSize, nowMs: () => number = () => performance.now(), share = 1) {
    this.#size = size;
    this.#nowMs = nowMs;
    this.#tokens = size.burst * share;
    this.#filledAtMs = nowMs();
  }

  /** False, and nothing taken, when so many are not there. */
  take(count: number): boolean {
    if (!this.has(count)) return false;
    this.#tokens -= count;
    return true;
  }

  /** Whether so many are there. */
  has(count: number): boolean {
    if (this.#tokens < count) this.#fill();
    return this.#tokens >= count;
  }

  #fill(): void {
    const nowMs = this.#nowMs();
    const fresh = ((nowMs - this.#filledAtMs) / 1_000) * this.#size.perSecond;
    this.#tokens = Math.min(this.#size.burst, this.#tokens + fresh);
    this.#filledAtMs = nowMs;
  }
}
