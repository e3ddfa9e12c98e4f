/** Shared header, in Int32 cells, counts of samples since the beginning modulo 2^32, and one of marks. */
const WRITTEN = 0;
const RELEASED = 1;
const CURSOR = 2;
const MARKS = 3;
const HEADER_BYTES = 16;
/** A power of two: the product is exact, as the quotient is. */
const SAMPLE_SCALE = 1 / 32_768;

/**
 * 16-bit PCM over a SharedArrayBuffer, with replay. One thread writes for the ring's life, one at a time reads:
 *
 * - The writer is the session's feed: it alone calls `write`, sets `marks`, calls `release` and `moveTo`.
 * - The reader is the session's track in a live worker: it reads at any position that is written and not released
 *   (`copyOut`, `copyOutFloat`), and sets `cursor`, how far it has worked. Reading gives nothing up.
 *
 * The writer releases, because only it knows what no worker will need again: audio before the last final, less the
 * context of a replay. So a worker that takes over from a lost one finds in the ring what it has to decode again.
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
   * @param capacitySamples a power of two, at most 2^30, so that wraps of the 32-bit indices are exact
   * @param fromSample where its audio begins: what lies before counts as written, read and released
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

  /** The other end of a ring made by `create`, usually in another thread. */
  static attach(buffer: SharedArrayBuffer): PcmRing {
    return new PcmRing(buffer);
  }

  /**
   * A ring of another size that holds what is not released here, at the same positions; called by the writer, who
   * goes on in the new one. Its cursor is the reader's last, until the reader sets it there.
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
    if (moved.written !== written) throw new Error("the writer of a ring must be the one who moves it");
    return moved;
  }

  /** Samples ever written, modulo 2^32. */
  get written(): number {
    return Atomics.load(this.#indices, WRITTEN) >>> 0;
  }

  /** Samples ever released, modulo 2^32; everything before it is gone. */
  get released(): number {
    return Atomics.load(this.#indices, RELEASED) >>> 0;
  }

  /** Samples that are written and not released. */
  get usedSamples(): number {
    return (this.written - this.released) >>> 0;
  }

  /** How far the reader has worked; between this and `written` lies what it has not looked at. */
  get cursor(): number {
    return Atomics.load(this.#indices, CURSOR) >>> 0;
  }

  /** Set by the reader only. */
  set cursor(position: number) {
    Atomics.store(this.#indices, CURSOR, position | 0);
  }

  /** Marks that the writer has made between samples, told apart from the ring: no sample behind one is seen before this counts it. */
  get marks(): number {
    return Atomics.load(this.#indices, MARKS);
  }

  /** Set by the writer only, before it writes what is behind the mark. */
  set marks(count: number) {
    Atomics.store(this.#indices, MARKS, count);
  }

  /** Takes as many samples as fit and returns how many; never waits, never allocates. */
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
    // Publish last: a reader that sees the new index must also see the samples behind it.
    Atomics.store(this.#indices, WRITTEN, (writeIndex + takenSamples) | 0);
    return takenSamples;
  }

  /**
   * Copies samples from `position` on into `target` as floats in -1..1 without releasing them.
   * The caller has checked that the range is written and not released.
   */
  copyOutFloat(position: number, target: Float32Array): void {
    const start = position & this.#mask;
    const firstRun = Math.min(target.length, this.capacitySamples - start);
    // Two plain loops: with the wrap in each index they take twice as long.
    for (let i = 0; i < firstRun; i++) target[i] = this.#storage[start + i]! * SAMPLE_SCALE;
    for (let i = firstRun; i < target.length; i++) target[i] = this.#storage[i - firstRun]! * SAMPLE_SCALE;
  }

  /** Copies samples from `position` on into `target` without releasing them. */
  copyOut(position: number, target: Int16Array): void {
    const start = position & this.#mask;
    const firstRun = Math.min(target.length, this.capacitySamples - start);
    target.set(this.#storage.subarray(start, start + firstRun), 0);
    target.set(this.#storage.subarray(0, target.length - firstRun), firstRun);
  }

  /** Frees everything before `position`; positions at or before the last release change nothing. Called by the writer only. */
  release(position: number): void {
    const advance = ((position >>> 0) - this.released) | 0;
    if (advance > 0) Atomics.store(this.#indices, RELEASED, position | 0);
  }
}
