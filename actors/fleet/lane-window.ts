/**
 * Limits the bytes in flight on a lane, so that a frozen node costs only its lane and a bounded amount of
 * memory.
 */
export class LaneWindow {
  readonly #limitBytes: number;
  /** Sizes of unacknowledged bundles, oldest first. */
  readonly #unheard: number[] = [];
  #nextBundle = 0;
  #inFlightBytes = 0;

  /** @param limitBytes at least two bundles; otherwise the lane would wait after each one */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  /** Bytes of audio that may be sent now. Other records are rare, and always sent. */
  get roomBytes(): number {
    return Math.max(0, this.#limitBytes - this.#inFlightBytes);
  }

  get nextBundle(): number {
    return this.#nextBundle;
  }

  sent(bytes: number): void {
    this.#unheard.push(bytes);
    this.#inFlightBytes += bytes;
    this.#nextBundle++;
  }

  /** Acknowledges the first `heard` bundles; an outdated count has no effect. */
  acknowledge(heard: number): void {
    const unheardFrom = this.#nextBundle - this.#unheard.length;
    const count = Math.min(heard, this.#nextBundle) - unheardFrom;
    for (const bytes of this.#unheard.splice(0, Math.max(0, count))) this.#inFlightBytes -= bytes;
  }
}

/** Detects a gap in numbered messages. */
export class SequenceCheck {
  #next = 0;

  /** Messages received in order. */
  get count(): number {
    return this.#next;
  }

  /** Returns whether `nth` is the next number; always false after a gap. */
  take(nth: number): boolean {
    if (nth !== this.#next) return false;
    this.#next++;
    return true;
  }
}
