import { RingBuffer } from "ringbuf.js";

/**
 * 16-bit PCM from one thread to another, over a SharedArrayBuffer: one writer and one reader, for life. What is read is gone;
 * the audio of a live session, which is looked at before it is released, lies in a `PcmRing` instead.
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

  /** The other end of a queue made by `create`, usually in another thread. */
  static attach(buffer: SharedArrayBuffer): PcmQueue {
    return new PcmQueue(buffer);
  }

  get capacitySamples(): number {
    return this.#samples.capacity();
  }

  /**
   * Writer only. Takes all samples, or none while there is no room for all of them; never waits.
   *
   * @throws {RangeError} for more samples than the queue holds, for which there will never be room
   */
  write(samples: Int16Array): boolean {
    if (samples.length > this.capacitySamples) {
      throw new RangeError(
        `Cannot write into a PCM queue: it holds ${this.capacitySamples} samples, received ${samples.length}`,
      );
    }
    if (this.#samples.availableWrite() < samples.length) return false;
    this.#samples.push(samples);
    return true;
  }

  /**
   * Reader only. Takes the oldest samples out.
   *
   * @throws {Error} when fewer than `count` are there: the writer tells how many it has written, after it has
   */
  read(count: number): Int16Array {
    const samples = new Int16Array(count);
    const readCount = count === 0 ? 0 : this.#samples.pop(samples);
    if (readCount < count) throw new Error(`Cannot read from a PCM queue: ${readCount} of ${count} samples`);
    return samples;
  }
}
