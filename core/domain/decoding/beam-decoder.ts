import { CtcAligner } from "./ctc-alignment.js";
import type { HotWords } from "./hot-words.js";
import type { Hypotheses, TokenSearch } from "./prefix-beam-search.js";
import { wordConfidences } from "./word-confidence.js";
import { DEFAULT_TIMING, type FrameTiming, type ScoredWord, textOf, timedWords } from "./words.js";

export interface DecodeOptions {
  readonly timing?: FrameTiming;
  readonly hotWords?: HotWords | null;
  /** Mean speech probability of the utterance; 1 by default. */
  readonly speechMean?: number;
  /** Ends a search on another thread early; see `TokenSearch.searchAside`. */
  readonly stop?: Int32Array | null;
}

export interface BeamDecoding {
  readonly text: string;
  readonly words: ScoredWord[];
  /** Confidence of the acoustic model in the text, 0 to 1; see `CtcAlignment`. */
  readonly confidence: number;
  /** See `Hypothesis`. */
  readonly score: number;
}

/**
 * Extra evidence that a text needs if voice activity is uncertain: it mistakes birds for speech in every
 * other frame.
 */
export interface SpeechDoubt {
  /** Mean speech probability above which an utterance counts as certain. */
  readonly below: number;
  /** Evidence per character for each unit below that mean. */
  readonly evidence: number;
}

export interface BeamDecoderOptions {
  /**
   * Evidence that each character of a text needs; with less, the result is empty. It is how much likelier
   * than silence the text is by the acoustic model alone, natural log. Without this, the language model turns
   * wind and rain into sentences.
   */
  readonly evidencePerCharacter?: number | undefined;
  readonly doubt?: SpeechDoubt | undefined;
  /** Added to the log-probs of every frame for the search, `[vocabulary]`; see `outputBias`. */
  readonly outputBias?: Float32Array | null | undefined;
}

/** Finds the best text of an utterance and the times of its words. Not re-entrant. */
export class BeamDecoder {
  readonly #vocabulary: readonly string[];
  readonly #search: TokenSearch;
  readonly #aligner: CtcAligner;
  readonly #evidencePerCharacter: number;
  readonly #doubt: SpeechDoubt | null;
  readonly #outputBias: Float32Array | null;
  #biased = new Float32Array(0);

  constructor(vocabulary: readonly string[], search: TokenSearch, options: BeamDecoderOptions = {}) {
    this.#vocabulary = vocabulary;
    this.#search = search;
    this.#aligner = new CtcAligner(vocabulary.length);
    this.#evidencePerCharacter = options.evidencePerCharacter ?? Number.NEGATIVE_INFINITY;
    this.#doubt = options.doubt ?? null;
    this.#outputBias = options.outputBias ?? null;
  }

  /** @param logProbs `[frames, vocabulary]`, natural log; may be longer than `frames` rows */
  decode(logProbs: Float32Array, frames: number, options: DecodeOptions = {}): BeamDecoding {
    const scores = this.#scoresOf(logProbs, frames);
    const hypotheses = this.#search.search(scores, frames, options.hotWords ?? null);
    return this.#decodingOf(hypotheses, logProbs, frames, options);
  }

  /**
   * Decodes with the search on another thread if there is one. May be called again before it settles.
   *
   * @param logProbs must not change until the promise settles
   * @throws {ServiceError} `CANCELLED` if `stop` ended the search
   */
  async decodeAside(
    logProbs: Float32Array,
    frames: number,
    options: DecodeOptions = {},
  ): Promise<BeamDecoding> {
    if (this.#search.searchAside === undefined) return this.decode(logProbs, frames, options);
    const { hotWords = null, stop = null } = options;
    const hypotheses = await this.#search.searchAside(logProbs, frames, hotWords, this.#outputBias, stop);
    return this.#decodingOf(hypotheses, logProbs, frames, options);
  }

  #decodingOf(
    hypotheses: Hypotheses,
    logProbs: Float32Array,
    frames: number,
    { timing = DEFAULT_TIMING, speechMean = 1 }: DecodeOptions,
  ): BeamDecoding {
    const [{ tokens, score, rows = logProbs }] = hypotheses;
    const aligned = this.#aligner.align(rows, frames, tokens);
    if (tokens.length > 0 && aligned.evidence < tokens.length * this.#evidenceNeeded(speechMean)) {
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

  /** Evidence that each character needs. */
  #evidenceNeeded(speechMean: number): number {
    if (this.#doubt === null) return this.#evidencePerCharacter;
    const { below, evidence } = this.#doubt;
    return this.#evidencePerCharacter + evidence * Math.max(0, below - speechMean);
  }

  /** Log-probs for the search; alignment and confidence use the network's. */
  #scoresOf(logProbs: Float32Array, frames: number): Float32Array {
    const bias = this.#outputBias;
    if (bias === null) return logProbs;
    const size = frames * bias.length;
    if (this.#biased.length < size) this.#biased = new Float32Array(2 * size);
    for (let i = 0, output = 0; i < size; i++, output = output + 1 === bias.length ? 0 : output + 1) {
      this.#biased[i] = logProbs[i]! + bias[output]!;
    }
    return this.#biased;
  }
}
