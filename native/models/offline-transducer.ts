import type { TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import type { LogProbs } from "./log-probs.js";
import { copyRows, type Tokens } from "./tokens.js";
import type { CtcHead } from "./voiced-recognizer.js";

export interface OfflineTransducerParts {
  readonly tokens: Tokens;
  readonly samplesPerRow: number;
  /** @returns the encoder's output, frame by frame */
  encode(pcm: Float32Array): Promise<Float32Array>;
  /** Searches a whole utterance. @returns `[rows, columns]` in the graph's order, natural log */
  search(encoded: Float32Array): Promise<Float32Array>;
  /** Receives the returned rows, in the vocabulary's order. */
  remember?(rows: Float32Array, encoded: Float32Array): void;
  /** See `CtcHead`. */
  searchOver?(fallback: TokenSearch): TokenSearch;
  release(): Promise<void>;
}

/** A transducer that reads whole utterances, one by one. Its rows are the path of a greedy search. */
export class OfflineTransducer implements CtcHead {
  readonly vocabulary: readonly string[];
  readonly outputFrameSamples: number;
  readonly reader = null;
  readonly searchOver?: (fallback: TokenSearch) => TokenSearch;
  readonly #parts: OfflineTransducerParts;

  constructor(parts: OfflineTransducerParts) {
    this.#parts = parts;
    this.vocabulary = parts.tokens.vocabulary;
    this.outputFrameSamples = parts.samplesPerRow;
    if (parts.searchOver !== undefined) this.searchOver = parts.searchOver.bind(parts);
  }

  async decode(pcm: Float32Array): Promise<LogProbs> {
    const { tokens } = this.#parts;
    const encoded = await this.#parts.encode(pcm);
    const found = await this.#parts.search(encoded);
    const frames = found.length / tokens.width;
    const logProbs = new Float32Array(frames * this.vocabulary.length);
    copyRows(found, tokens, logProbs);
    this.#parts.remember?.(logProbs, encoded);
    return { logProbs, frames };
  }

  /** Reads utterances one by one: with padding, rows could depend on the other utterances. */
  async decodeTogether(pcms: readonly Float32Array[]): Promise<readonly LogProbs[]> {
    const decoded: LogProbs[] = [];
    for (const pcm of pcms) decoded.push(await this.decode(pcm));
    return decoded;
  }

  async release(): Promise<void> {
    await this.#parts.release();
  }
}
