import { continuedText } from "../../core/domain/decoding/continued-text.js";
import type { GrowingSearch } from "../../core/domain/decoding/growing-search.js";
import { textOf, withPiece } from "../../core/domain/decoding/words.js";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import type { UtteranceDecoder } from "../recognition/utterance-decoder.js";
import type { OpenText, PartialText } from "./hypothesis.js";

const GROWING_BEAM_WIDTH = 8;
const BLANK = 0;
/** Log-prob of all other outputs in a frame of which only the best output is known. */
const UNLIKELY = -30;
const LEAST_PROBABILITY = 1e-9;

/** Searches of open utterances, reused; a session has one until it ends. */
export class SearchPool {
  readonly #make: () => GrowingSearch | null;
  readonly #free: GrowingSearch[] = [];

  private constructor(make: () => GrowingSearch | null) {
    this.#make = make;
  }

  /** Null without a language model: partials are then the streaming head's letters. */
  static of(utterances: UtteranceDecoder): SearchPool | null {
    const pool = new SearchPool(() => utterances.growing(GROWING_BEAM_WIDTH));
    const first = pool.#make();
    if (first === null) return null;
    pool.release(first);
    return pool;
  }

  acquire(): GrowingSearch {
    return this.#free.pop() ?? this.#make()!;
  }

  release(search: GrowingSearch): void {
    this.#free.push(search);
  }
}

export interface SearchedUtteranceParts {
  /** Search that no other utterance uses while this one is open. */
  readonly search: GrowingSearch;
  readonly vocabulary: readonly string[];
  /** Bias added to each frame, `[vocabulary]`; null for none. */
  readonly outputBias: Float32Array | null;
}

/**
 * Partials from a beam search with the language model over the streaming head's frames. Frames are the
 * session's.
 *
 * A word is stable when all texts of the beam contain it and the streaming head has output exactly its
 * letters: where the language model had to correct letters, the second pass may still differ. During a pause,
 * the second pass decodes the utterance so far. Its text replaces the search's, and stays if speech resumes;
 * the search then appends new words.
 */
export class SearchedUtterance implements OpenText {
  readonly #parts: SearchedUtteranceParts;
  /** The current frame, `[vocabulary]`. */
  readonly #row: Float32Array;
  readonly #firstOwnFrame: number;
  #nextFrame: number;
  #lastBest = BLANK;
  /** Whether the current run of this output started in a frame of the previous utterance. */
  #isPassing = false;
  #hasLetters = false;
  /** The streaming head's letters after `#decoded`, without spaces. */
  readonly #letters: number[] = [];
  #bestText = 0;
  #hasUpdate = false;
  /** Text of the second pass before the last pause, and the number of search tokens that it replaces. */
  #decoded = "";
  #decodedTokens = 0;
  /** Settled tokens at the last update, and the text of those after `#decodedTokens`. */
  #settledTokens = 0;
  #settledText = "";
  #stableTokens = 0;
  /** Text of the second pass in the current pause. */
  #pauseText: string | null = null;
  #reported = "";
  #stable = "";

  /** @param firstOwnFrame letters in earlier frames belong to the previous utterance */
  constructor(parts: SearchedUtteranceParts, startFrame: number, firstOwnFrame: number) {
    this.#parts = parts;
    this.#row = new Float32Array(parts.vocabulary.length);
    this.#nextFrame = startFrame;
    this.#firstOwnFrame = firstOwnFrame;
    parts.search.begin();
  }

  get hasLetters(): boolean {
    return this.#hasLetters;
  }

  get text(): string {
    return textOf(this.#parts.search.grown().tokens, this.#parts.vocabulary);
  }

  take(best: number, logProb: number, logProbs?: Float32Array, offset = 0): void {
    const isRun = best === this.#lastBest;
    this.#lastBest = best;
    this.#hasLetters ||= this.#isLetter(best);
    const isOwn = this.#nextFrame++ >= this.#firstOwnFrame;
    this.#isPassing = best !== BLANK && (!isOwn || (isRun && this.#isPassing));
    if (!isOwn || this.#isPassing) return;
    if (!isRun && this.#isLetter(best)) this.#letters.push(best);
    if (logProbs === undefined) this.#remember(best, logProb);
    else this.#copy(logProbs, offset);
    const bestText = this.#parts.search.push(this.#row);
    this.#hasUpdate ||= bestText !== this.#bestText;
    this.#bestText = bestText;
  }

  takeUpdate(): PartialText | null {
    // During a pause, the second pass's text is better.
    if (!this.#hasUpdate || !this.#hasLetters || this.#pauseText !== null) return null;
    this.#hasUpdate = false;
    const { tokens, settled } = this.#parts.search.grown();
    if (settled > this.#settledTokens) this.#settle(tokens, settled);
    return this.#report(this.#afterDecoded(this.#searched(tokens, tokens.length)));
  }

  takeSecondPass(text: string): PartialText | null {
    if (text === "" || !this.#hasLetters) return null;
    this.#pauseText = continuedText(this.#stable, text);
    return this.#report(this.#pauseText);
  }

  onResumed(): void {
    if (this.#pauseText === null) return;
    this.#decoded = this.#pauseText;
    this.#stable = this.#pauseText;
    this.#pauseText = null;
    this.#letters.length = 0;
    this.#parts.search.keepBestText();
    this.#decodedTokens = this.#parts.search.grown().tokens.length;
    this.#settledTokens = this.#decodedTokens;
    this.#settledText = "";
    this.#stableTokens = this.#decodedTokens;
  }

  /** Ignores the flush, which the second pass includes. */
  takeFlush(): null {
    return null;
  }

  #isLetter(output: number): boolean {
    return this.#parts.vocabulary[output]!.trim() !== "";
  }

  #settle(tokens: ArrayLike<number>, settled: number): void {
    this.#settledText = this.#searched(tokens, settled);
    this.#settledTokens = settled;
    const stable = this.#agreedEnd(tokens, settled);
    if (stable <= this.#stableTokens) return;
    this.#stableTokens = stable;
    const own = Array.prototype.slice.call(tokens, this.#decodedTokens, stable);
    this.#stable = this.#afterDecoded(textOf(own, this.#parts.vocabulary));
  }

  /** Returns the end of the settled words whose letters equal those of the streaming head. */
  #agreedEnd(tokens: ArrayLike<number>, settled: number): number {
    let end = this.#decodedTokens;
    let letter = 0;
    for (let i = this.#decodedTokens; i < settled; i++) {
      if (!this.#isLetter(tokens[i]!)) end = i;
      else if (this.#letters[letter++] !== tokens[i]) return end;
    }
    return settled;
  }

  /** Returns the search's text after `#decodedTokens`, up to the token `end`. */
  #searched(tokens: ArrayLike<number>, end: number): string {
    const { vocabulary } = this.#parts;
    let text = this.#settledText;
    for (let i = this.#settledTokens; i < end; i++) text = withPiece(text, vocabulary[tokens[i]!]!);
    return text;
  }

  #afterDecoded(text: string): string {
    return this.#decoded === "" || text === "" ? this.#decoded + text : `${this.#decoded} ${text}`;
  }

  #report(text: string): PartialText | null {
    if (text === "" || text === this.#reported) return null;
    this.#reported = text;
    return { text, stable: countCodePoints(this.#stable) };
  }

  #copy(logProbs: Float32Array, offset: number): void {
    const { outputBias } = this.#parts;
    for (let output = 0; output < this.#row.length; output++) {
      this.#row[output] = logProbs[offset + output]! + (outputBias?.[output] ?? 0);
    }
  }

  #remember(best: number, logProb: number): void {
    const bias = this.#parts.outputBias?.[best] ?? 0;
    this.#row.fill(UNLIKELY);
    this.#row[BLANK] = Math.log(Math.max(LEAST_PROBABILITY, 1 - Math.exp(logProb)));
    this.#row[best] = logProb + bias;
  }
}
