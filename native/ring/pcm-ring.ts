/** Header of Int32 cells: three positions in samples modulo 2^32, and a count of marks. */
const WRITTEN = 0;
const RELEASED = 1;
const CURSOR = 2;
const MARKS = 3;
const HEADER_BYTES = 16;
/** A power of two, so that the product is exact. */
const SAMPLE_SCALE = 1 / 32_768;

/**
 * A ring of 16-bit PCM over a SharedArrayBuffer that allows replay. One thread writes for the ring's
 * lifetime, and one thread at a time reads:
 *
 * - The writer is the session's feed: only it calls `write`, `release` and `moveTo`, and sets `marks`.
 * - The reader is the session's track in a live worker: it reads any audio that is written and not released
 *   (`copyOut`, `copyOutFloat`), and sets `cursor` to its progress. Reading releases nothing.
 *
 * The writer releases audio, because only it knows what no worker will need again: everything before the last
 * final, except the context of a replay. A worker that replaces a lost one finds all audio that it must
 * decode again in the ring.
 */
export class PcmRing {
  readonly buffer: SharedArrayBuffer;
  readonly capacitySamples: number;
  readonly #indices: Int32Array;
  readonly #storage: Int16Array;
  readonly #mask: number;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.capacitySamples = (buffer.byteLength - HEADER_BYTES) / 2;
    this.#indices = new Int32Array(buffer, 0, HEADER_BYTES / 4);
    this.#storage = new Int16Array(buffer, HEADER_BYTES, this.capacitySamples);
    this.#mask = this.capacitySamples - 1;
  }

  /**
   * @param capacitySamples a power of two, at most 2^30, so that 32-bit indices wrap exactly
   * @param fromSample position of its first sample; earlier ones count as written, read and released
   */
  static create(capacitySamples: number, fromSample = 0): PcmRing {
    if (!Number.isInteger(Math.log2(capacitySamples)) || capacitySamples > 2 ** 30 || capacitySamples < 2) {
      throw new RangeError(
        `Cannot make a PCM ring: capacity must be a power of two, received ${capacitySamples}`,
      );
    }
    const ring = new PcmRing(new SharedArrayBuffer(HEADER_BYTES + capacitySamples * 2));
    for (const index of [WRITTEN, RELEASED, CURSOR]) Atomics.store(ring.#indices, index, fromSample | 0);
    return ring;
  }

  /** Opens the other end of a ring made by `create`, usually in another thread. */
  static attach(buffer: SharedArrayBuffer): PcmRing {
    return new PcmRing(buffer);
  }

  /**
   * Copies the audio that has not been released to a ring of another size, at the same positions. The writer
   * continues there; its cursor is the reader's last.
   */
  moveTo(capacitySamples: number): PcmRing {
    const { usedSamples, released, written } = this;
    if (capacitySamples < usedSamples) {
      throw new RangeError(
        `Cannot move a PCM ring: capacity must be at least ${usedSamples}, received ${capacitySamples}`,
      );
    }
    const moved = PcmRing.create(capacitySamples, released);
    Atomics.store(moved.#indices, CURSOR, this.cursor | 0);
    Atomics.store(moved.#indices, MARKS, this.marks);
    const start = released & this.#mask;
    const firstRun = Math.min(usedSamples, this.capacitySamples - start);
    moved.write(this.#storage.subarray(start, start + firstRun));
    moved.write(this.#storage.subarray(0, usedSamples - firstRun));
    if (moved.written !== written) throw new Error("Cannot move a PCM ring: only its writer may do so");
    return moved;
  }

  /** Number of samples written so far, modulo 2^32. */
  get written(): number {
    return Atomics.load(this.#indices, WRITTEN) >>> 0;
  }

  /** Number of samples released so far, modulo 2^32. */
  get released(): number {
    return Atomics.load(this.#indices, RELEASED) >>> 0;
  }

  get usedSamples(): number {
    return (this.written - this.released) >>> 0;
  }

  /** Position up to which the reader has processed the audio. */
  get cursor(): number {
    return Atomics.load(this.#indices, CURSOR) >>> 0;
  }

  /** Set by the reader only. */
  set cursor(position: number) {
    Atomics.store(this.#indices, CURSOR, position | 0);
  }

  /** Number of marks. They are sent as messages, but counted here before any later sample is written. */
  get marks(): number {
    return Atomics.load(this.#indices, MARKS);
  }

  /** Set by the writer only, before it writes the samples after the mark. */
  set marks(count: number) {
    Atomics.store(this.#indices, MARKS, count);
  }

  /** Writes as many samples as fit and returns their number; never waits. */
  write(samples: Int16Array): number {
    const writeIndex = this.written;
    const takenSamples = Math.min(
      samples.length,
      this.capacitySamples - ((writeIndex - this.released) >>> 0),
    );
    const start = writeIndex & this.#mask;
    const firstRun = Math.min(takenSamples, this.capacitySamples - start);
    if (takenSamples === samples.length && firstRun === takenSamples) {
      this.#storage.set(samples, start);
    } else {
      this.#storage.set(samples.subarray(0, firstRun), start);
      this.#storage.set(samples.subarray(firstRun, takenSamples), 0);
    }
    // Publish last: a reader that sees the new index must also see the samples.
    Atomics.store(this.#indices, WRITTEN, (writeIndex + takenSamples) | 0);
    return takenSamples;
  }

  /** Copies samples from `position` on, as floats from -1 to 1. The caller checks that the ring has them. */
  copyOutFloat(position: number, target: Float32Array): void {
    const start = position & this.#mask;
    const firstRun = Math.min(target.length, this.capacitySamples - start);
    // Two plain loops: a wrap in each index would take twice as long.
    for (let i = 0; i < firstRun; i++) target[i] = this.#storage[start + i]! * SAMPLE_SCALE;
    for (let i = firstRun; i < target.length; i++) target[i] = this.#storage[i - firstRun]! * SAMPLE_SCALE;
  }

  copyOut(position: number, target: Int16Array): void {
    const start = position & this.#mask;
    const firstRun = Math.min(target.length, this.capacitySamples - start);
    target.set(this.#storage.subarray(start, start + firstRun), 0);
    target.set(this.#storage.subarray(0, target.length - firstRun), firstRun);
  }

  /**
   * Releases everything before `position`; has no effect if that is already released. For the writer only.
   */
  release(position: number): void {
    const advance = ((position >>> 0) - this.released) | 0;
    if (advance > 0) Atomics.store(this.#indices, RELEASED, position | 0);
  }
}
