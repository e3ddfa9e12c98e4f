/** Pure: what is on its way on a lane. A node that does not listen costs its own lane alone, and the bus a bounded memory. */
export class LaneWindow {
  readonly #limitBytes: number;
  /** Bundles that are not acknowledged, oldest first. */
  readonly #unheard: number[] = [];
  #nextBundle = 0;
  #inFlightBytes = 0;

  /** @param limitBytes at least two bundles, or a lane would wait for each */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  /** Bytes of audio that may be sent now. Other records are few and always go. */
  get roomBytes(): number {
    return Math.max(0, this.#limitBytes - this.#inFlightBytes);
  }

  /** The number of the bundle that is sent next. */
  get nextBundle(): number {
    return this.#nextBundle;
  }

  sent(bytes: number): void {
    this.#unheard.push(bytes);
    this.#inFlightBytes += bytes;
    this.#nextBundle++;
  }

  /** The other side has heard bundles up to `heard`, exclusive; earlier words of it change nothing. */
  acknowledge(heard: number): void {
    const unheardFrom = this.#nextBundle - this.#unheard.length;
    const count = Math.min(heard, this.#nextBundle) - unheardFrom;
    for (const bytes of this.#unheard.splice(0, Math.max(0, count))) this.#inFlightBytes -= bytes;
  }
}

/** Pure: notices that something of a numbered row is missing. */
export class InOrder {
  #next = 0;

  /** How many came in order. */
  get count(): number {
    return this.#next;
  }

  /** Whether `nth` is the next; from the first that is not, none is. */
  take(nth: number): boolean {
    if (nth !== this.#next) return false;
    this.#next++;
    return true;
  }
}
