import { RingBuffer } from "ringbuf.js";

/**
 * A queue of 16-bit PCM over a SharedArrayBuffer, with one writer and one reader for life. Reading removes
 * samples; a live session, whose audio may be replayed, uses a `PcmRing` instead.
 */
export class PcmQueue {
  readonly buffer: SharedArrayBuffer;
  readonly #samples: RingBuffer;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#samples = new RingBuffer(buffer, Int16Array);
  }

  /** @param capacitySamples at least 1 */
  static create(capacitySamples: number): PcmQueue {
    if (!Number.isInteger(capacitySamples) || capacitySamples < 1) {
      throw new RangeError(
        `Cannot make a PCM queue: capacity must be a positive integer, received ${capacitySamples}`,
      );
    }
    return new PcmQueue(RingBuffer.getStorageForCapacity(capacitySamples, Int16Array));
  }

  /** Opens the other end of a queue made by `create`, usually in another thread. */
  static attach(buffer: SharedArrayBuffer): PcmQueue {
    return new PcmQueue(buffer);
  }

  get capacitySamples(): number {
    return this.#samples.capacity();
  }

  /**
   * Writes all samples, or none if they do not fit now. For the writer only; never waits.
   * @throws {RangeError} for more samples than the queue's capacity
   */
  write(samples: Int16Array): boolean {
    if (samples.length > this.capacitySamples) {
      throw new RangeError(
        `Cannot write into a PCM queue: its capacity is ${this.capacitySamples} samples, ` +
          `received ${samples.length}`,
      );
    }
    if (this.#samples.availableWrite() < samples.length) return false;
    this.#samples.push(samples);
    return true;
  }

  /**
   * Removes the oldest samples. For the reader only.
   * @throws {Error} if there are fewer than `count`: the writer must announce samples after writing them
   */
  read(count: number): Int16Array {
    const samples = new Int16Array(count);
    const readCount = count === 0 ? 0 : this.#samples.pop(samples);
    if (readCount < count) throw new Error(`Cannot read from a PCM queue: ${readCount} of ${count} samples`);
    return samples;
  }
}
