/** Probabilities are summed in whole steps, so that a sum does not depend on where it started. */
export const SUM_STEPS = 1 << 16;

/** The last frames of a session. Frames are numbered from 0; only the last `capacity` may be read. */
export class RecentFrames {
  readonly #probabilities: Float32Array;
  readonly #speechFlags: Uint8Array;
  readonly #levels: Float32Array;
  readonly #letterFlags: Uint8Array;
  /** Sum of the probabilities before each frame, in steps. */
  readonly #sums: Float64Array;
  #sum = 0;
  #count = 0;

  constructor(capacity: number) {
    this.#probabilities = new Float32Array(capacity);
    this.#speechFlags = new Uint8Array(capacity);
    this.#levels = new Float32Array(capacity);
    this.#letterFlags = new Uint8Array(capacity);
    this.#sums = new Float64Array(capacity);
  }

  /** Number of frames that have arrived. */
  get count(): number {
    return this.#count;
  }

  push(probability: number, levelDb: number, hasLetter: boolean): void {
    const slot = this.#slot(this.#count++);
    this.#probabilities[slot] = Number.isNaN(probability) ? 0 : probability;
    this.#levels[slot] = levelDb;
    this.#letterFlags[slot] = hasLetter ? 1 : 0;
    this.#sums[slot] = this.#sum;
    this.#sum += Math.round(this.#probabilities[slot]! * SUM_STEPS);
  }

  markSpeech(frame: number, isSpeech: boolean): void {
    this.#speechFlags[this.#slot(frame)] = isSpeech ? 1 : 0;
  }

  probability(frame: number): number {
    return this.#probabilities[this.#slot(frame)]!;
  }

  isSpeech(frame: number): boolean {
    return this.#speechFlags[this.#slot(frame)] === 1;
  }

  /** See `levelDb`. */
  level(frame: number): number {
    return this.#levels[this.#slot(frame)]!;
  }

  /** Returns the highest level of frames [first, end). */
  highestLevel(first: number, end: number): number {
    let level = this.level(first);
    for (let frame = first + 1; frame < end; frame++) level = Math.max(level, this.level(frame));
    return level;
  }

  hasLetter(frame: number): boolean {
    return this.#letterFlags[this.#slot(frame)] === 1;
  }

  /** Sum of the probabilities before a frame, in steps; for the next frame to arrive, the sum of all. */
  sumBefore(frame: number): number {
    return frame === this.#count ? this.#sum : this.#sums[this.#slot(frame)]!;
  }

  #slot(frame: number): number {
    return frame % this.#probabilities.length;
  }
}
