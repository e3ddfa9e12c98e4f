import type { LiveResult } from "./live-types.js";

type Reader = {
  readonly settle: (result: IteratorResult<LiveResult, void>) => void;
  readonly fail: (error: unknown) => void;
};

/**
 * Queues results for the caller. A slow reader gets every final, but only the latest partial of each
 * utterance, so the queue holds at most one result per utterance.
 */
export class ResultQueue {
  readonly #results: LiveResult[] = [];
  #reader: Reader | null = null;
  #ending: { readonly error: unknown } | "ended" | null = null;

  push(result: LiveResult): void {
    if (this.#ending !== null) return;
    if (this.#reader !== null) {
      this.#withReader((reader) => reader.settle({ done: false, value: result }));
      return;
    }
    const last = this.#results.at(-1);
    if (last?.type === "partial" && last.utterance === result.utterance) this.#results.pop();
    this.#results.push(result);
  }

  end(): void {
    this.#ending ??= "ended";
    this.#withReader((reader) => reader.settle({ done: true, value: undefined }));
  }

  /** Makes the reader fail after it has read the queued results. */
  fail(error: unknown): void {
    this.#ending ??= { error };
    this.#withReader((reader) => reader.fail(error));
  }

  next(): Promise<IteratorResult<LiveResult, void>> {
    const result = this.#results.shift();
    if (result !== undefined) return Promise.resolve({ done: false, value: result });
    if (this.#ending === "ended") return Promise.resolve({ done: true, value: undefined });
    if (this.#ending !== null) return Promise.reject(this.#ending.error);
    return new Promise((settle, fail) => {
      this.#reader = { settle, fail };
    });
  }

  #withReader(act: (reader: Reader) => void): void {
    const reader = this.#reader;
    this.#reader = null;
    if (reader !== null) act(reader);
  }
}
