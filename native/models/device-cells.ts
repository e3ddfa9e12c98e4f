import { PROVIDER_ERROR_KINDS, type ProviderErrorKind } from "../../core/domain/placement/provider-error.js";

/** Int32 cells of the lock: the thread that holds it, 0 for none, and how many wait for it. */
const HOLDER = 0;
const WAITING = 1;
const FIRST_ERROR = 2;
const FIRST_BUSY = FIRST_ERROR + PROVIDER_ERROR_KINDS.length;
/** Numbers of devices that are told apart. */
const DEVICE_COUNT = 64;

/** A wake-up that was lost costs no more than this. */
const LOOK_AGAIN_MS = 1_000;
/** How long one that gives the lock up lets a waiting worker take it. */
const HAND_OVER_MS = 2;

/**
 * What all workers of a process share that run graphs elsewhere than on the CPU: the lock of providers that bear one thread at
 * a time, errors by kind, and the time each device was at work, in microseconds modulo 2^32.
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

  /** @param device null for the one device of a provider that takes no number */
  addBusy(device: number | null, micros: number): void {
    Atomics.add(this.#cells, FIRST_BUSY + ((device ?? 0) % DEVICE_COUNT), micros);
  }

  busyMicros(device: number | null): number {
    return Atomics.load(this.#cells, FIRST_BUSY + ((device ?? 0) % DEVICE_COUNT)) >>> 0;
  }

  /**
   * Does `work` while no other worker does any: WebGPU's calls from two threads at a time end the process (onnxruntime issues
   * 32561 and 31627), creating and releasing sessions included. The thread hears its messages while it waits.
   */
  async holdingLock<T>(thread: number, work: () => Promise<T>): Promise<T> {
    await this.#take(thread);
    try {
      return await work();
    } finally {
      this.#giveUp(thread);
    }
  }

  /** For a thread that has ended, wherever it was. */
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
    // The one that has handed it over looks for that.
    Atomics.notify(this.#cells, HOLDER);
  }

  /** A worker that begins its next run at once would take the lock again before any other is awake. */
  #giveUp(thread: number): void {
    this.releaseLockOf(thread);
    if (Atomics.load(this.#cells, WAITING) > 0) Atomics.wait(this.#cells, HOLDER, 0, HAND_OVER_MS);
  }
}
