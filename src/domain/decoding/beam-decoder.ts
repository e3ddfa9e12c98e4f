import { CtcAligner } from "./ctc-alignment.js";
import type { HotWords } from "./hot-words.js";
import type { TokenSearch } from "./prefix-beam-search.js";
import { wordConfidences } from "./word-confidence.js";
import { DEFAULT_TIMING, type FrameTiming, type ScoredWord, textOf, timedWords } from "./words.js";

export interface DecodeOptions {
  /** Of frame 0 and of a frame, for the words. */
  readonly timing?: FrameTiming;
  readonly hotWords?: HotWords | null;
}

export interface BeamDecoding {
  readonly text: string;
  readonly words: ScoredWord[];
  /** Of the acoustic model in the chosen text, 0 to 1; see `CtcAlignment`. */
  readonly confidence: number;
  /** See `FoundTokens`. */
  readonly score: number;
}

/** The best text of an utterance, and where its words were spoken. Not re-entrant. */
export class BeamDecoder {
  readonly #vocabulary: readonly string[];
  readonly #search: TokenSearch;
  readonly #aligner: CtcAligner;
  readonly #evidencePerCharacter: number;

  /**
   * @param evidencePerCharacter how much likelier than silence a text must be for each of its characters, by the
   *   acoustic model alone, natural log; else the result is empty. Without it the language model makes sentences of
   *   wind and rain
   */
  constructor(
    vocabulary: readonly string[],
    search: TokenSearch,
    evidencePerCharacter = Number.NEGATIVE_INFINITY,
  ) {
    this.#vocabulary = vocabulary;
    this.#search = search;
    this.#aligner = new CtcAligner(vocabulary.length);
    this.#evidencePerCharacter = evidencePerCharacter;
  }

  /** @param logProbs `[frames, vocabulary]`, natural log; may be longer than `frames` rows */
  decode(logProbs: Float32Array, frames: number, options: DecodeOptions = {}): BeamDecoding {
    const { timing = DEFAULT_TIMING, hotWords = null } = options;
    const hypotheses = this.#search.search(logProbs, frames, hotWords);
    const [{ tokens, score }] = hypotheses;
    const aligned = this.#aligner.align(logProbs, frames, tokens);
    if (tokens.length > 0 && aligned.evidence < tokens.length * this.#evidencePerCharacter) {
      return { text: "", words: [], confidence: 1, score };
    }
    const confidences = wordConfidences(hypotheses, aligned, this.#vocabulary);
    return {
      text: textOf(tokens, this.#vocabulary),
      words: timedWords(aligned, this.#vocabulary, timing).map((word, i) => {
        return { ...word, confidence: confidences[i]! };
      }),
      confidence: aligned.confidence,
      score,
    };
  }
}
