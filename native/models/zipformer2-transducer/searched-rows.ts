import type { HotWords } from "../../../core/domain/decoding/hot-words.js";
import type { Hypotheses, TokenSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import type { ModifiedBeamSearch } from "./modified-beam-search.js";

interface AsideOptions {
  readonly hotWords: HotWords | null;
  readonly stop: Int32Array | null;
  readonly fallback: TokenSearch;
}

/**
 * The encoder's output for utterances whose rows a transducer returned, for a search through its graphs.
 * Workers pass rows on unchanged, so the rows identify the utterance; both are released together.
 */
export class SearchedRows {
  readonly #search: ModifiedBeamSearch;
  readonly #encoded = new WeakMap<Float32Array, Float32Array>();

  constructor(search: ModifiedBeamSearch) {
    this.#search = search;
  }

  /** @param rows of the greedy search; @param encoded `[frames, width]` */
  remember(rows: Float32Array, encoded: Float32Array): void {
    this.#encoded.set(rows, encoded);
  }

  /** @param fallback search for rows from elsewhere */
  over(fallback: TokenSearch): TokenSearch {
    return {
      search: (rows, frames, hotWords) => fallback.search(rows, frames, hotWords),
      searchAside: (rows, frames, hotWords, _bias, stop = null) =>
        this.#searchAside(rows, frames, { hotWords, stop, fallback }),
    };
  }

  async #searchAside(
    rows: Float32Array,
    frames: number,
    { hotWords, stop, fallback }: AsideOptions,
  ): Promise<Hypotheses> {
    const encoded = this.#encoded.get(rows);
    return encoded === undefined
      ? fallback.search(rows, frames, hotWords)
      : this.#search.search(encoded, hotWords, stop);
  }
}
