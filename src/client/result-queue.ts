import type { LiveResult } from "./types.js";

type Taker = {
  readonly settle: (result: IteratorResult<LiveResult, void>) => void;
  readonly fail: (error: unknown) => void;
};

/**
 * Results on their way to the caller. A reader who is slow finds only the latest partial of an utterance, and every final;
 * so it holds no more than there were utterances.
 */
export class ResultQueue {
  readonly #results: LiveResult[] = [];
  #taker: Taker | null = null;
  #ending: { readonly error: unknown } | "ended" | null = null;

  push(result: LiveResult): void {
    if (this.#ending !== null) return;
    if (this.#taker !== null) {
      this.#take((taker) => taker.settle({ done: false, value: result }));
      return;
    }
    const last = this.#results.at(-1);
    if (last?.type === "partial" && last.utterance === result.utterance) this.#results.pop();
    this.#results.push(result);
  }

  end(): void {
    this.#ending ??= "ended";
    this.#take((taker) => taker.settle({ done: true, value: undefined }));
  }

  /** What was pushed before is still read. */
  fail(error: unknown): void {
    this.#ending ??= { error };
    this.#take((taker) => taker.fail(error));
  }

  next(): Promise<IteratorResult<LiveResult, void>> {
    const result = this.#results.shift();
    if (result !== undefined) return Promise.resolve({ done: false, value: result });
    if (this.#ending === "ended") return Promise.resolve({ done: true, value: undefined });
    if (this.#ending !== null) return Promise.reject(this.#ending.error);
    return new Promise((settle, fail) => {
      this.#taker = { settle, fail };
    });
  }

  #take(give: (taker: Taker) => void): void {
    const taker = this.#taker;
    this.#taker = null;
    if (taker !== null) give(taker);
  }
}
