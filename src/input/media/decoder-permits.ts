import { ServiceError } from "../../../core/domain/errors.js";

/** Further files are rejected. */
const LONGEST_QUEUE = 256;

/** Limits how many files are decoded at the same time, first come, first served. */
export class DecoderPermits {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** @throws {ServiceError} `CANCELLED` if `signal` aborts the wait, `ENGINE_BUSY` if too many wait */
  async use<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#take(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw cancelled();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    if (this.#waiting.length >= LONGEST_QUEUE) {
      throw new ServiceError("ENGINE_BUSY", `at most ${LONGEST_QUEUE} files wait to be decoded, try again`);
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(onTurn), 1);
        reject(cancelled());
      };
      const onTurn = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(onTurn);
    });
  }
}

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "transcription was cancelled");
}
