import { PROVIDER_ERROR_KINDS, type ProviderErrorKind } from "../../core/domain/placement/provider-error.js";

/** Int32 cells of the lock: the id of its holder's thread (0: free), and the number of waiters. */
const HOLDER = 0;
const WAITING = 1;
const FIRST_ERROR = 2;
const FIRST_BUSY = FIRST_ERROR + PROVIDER_ERROR_KINDS.length;
const DEVICE_COUNT = 64;

/** Maximum wait, which limits the cost of a lost wake-up. */
const LOOK_AGAIN_MS = 1_000;
/** Time for which a worker that releases the lock waits for another to take it. */
const HAND_OVER_MS = 2;

/**
 * State shared by all workers of a process that run graphs off the CPU: a lock for providers that are not
 * thread-safe, error counts by kind, and each device's busy time in microseconds modulo 2^32.
 */
export class DeviceCells {
  static readonly BYTES = (FIRST_BUSY + DEVICE_COUNT) * Int32Array.BYTES_PER_ELEMENT;
  readonly #cells: Int32Array;

  constructor(cells: SharedArrayBuffer) {
    this.#cells = new Int32Array(cells);
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(DeviceCells.BYTES);
  }

  countError(kind: ProviderErrorKind): void {
    Atomics.add(this.#cells, FIRST_ERROR + PROVIDER_ERROR_KINDS.indexOf(kind), 1);
  }

  errorCount(kind: ProviderErrorKind): number {
    return Atomics.load(this.#cells, FIRST_ERROR + PROVIDER_ERROR_KINDS.indexOf(kind)) >>> 0;
  }

  /** @param device null for a provider without device numbers */
  addBusy(device: number | null, micros: number): void {
    Atomics.add(this.#cells, FIRST_BUSY + ((device ?? 0) % DEVICE_COUNT), micros);
  }

  busyMicros(device: number | null): number {
    return Atomics.load(this.#cells, FIRST_BUSY + ((device ?? 0) % DEVICE_COUNT)) >>> 0;
  }

  /**
   * Runs `work` exclusively among workers: concurrent WebGPU calls, including creation and release of
   * sessions, crash the process (onnxruntime issues 32561 and 31627). The event loop stays free while the
   * thread waits.
   */
  async holdingLock<T>(thread: number, work: () => Promise<T>): Promise<T> {
    await this.#take(thread);
    try {
      return await work();
    } finally {
      // Without a hand-over, a worker that immediately starts its next run would always win the lock again.
      this.releaseLockOf(thread);
      if (Atomics.load(this.#cells, WAITING) > 0) Atomics.wait(this.#cells, HOLDER, 0, HAND_OVER_MS);
    }
  }

  /** Releases the lock if the thread holds it; also called for threads that have ended. */
  releaseLockOf(thread: number): void {
    if (Atomics.compareExchange(this.#cells, HOLDER, thread, 0) === thread) {
      Atomics.notify(this.#cells, HOLDER);
    }
  }

  async #take(thread: number): Promise<void> {
    for (;;) {
      const holder = Atomics.compareExchange(this.#cells, HOLDER, 0, thread);
      if (holder === 0) break;
      Atomics.add(this.#cells, WAITING, 1);
      await Atomics.waitAsync(this.#cells, HOLDER, holder, LOOK_AGAIN_MS).value;
      Atomics.sub(this.#cells, WAITING, 1);
    }
    // Wake the previous holder, which waits for the hand-over.
    Atomics.notify(this.#cells, HOLDER);
  }
}
