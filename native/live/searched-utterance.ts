import { continuedText } from "../../core/domain/decoding/continued-text.js";
import type { GrowingSearch } from "../../core/domain/decoding/growing-search.js";
import { textOf, withPiece } from "../../core/domain/decoding/words.js";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import type { OpenText, ToldText } from "./hypothesis.js";

/** Texts that the search of an open utterance keeps. */
export const GROWING_BEAM_WIDTH = 8;
const BLANK = 0;
/** Log-prob of the other outputs of a frame of which only the best is remembered. */
const UNLIKELY = -30;
const LEAST_PROBABILITY = 1e-9;

export interface SearchedUtteranceParts {
  /** Its own until it ends. */
  readonly search: GrowingSearch;
  readonly vocabulary: readonly string[];
  /** Added to each frame, `[vocabulary]`; null for none. */
  readonly outputBias: Float32Array | null;
}

/**
 * What the streaming head has heard of an open utterance, as a beam search with the language model puts it into words. Frames
 * are the session's.
 *
 * A word is promised when all texts of the beam have it and it is what the streaming head heard, letter by letter: where the
 * language model had to correct, the second pass may still hear something else. In a pause that pass reads the utterance so far.
 * Its text is told instead, and stays if speech goes on: the search then adds what comes behind the pause.
 */
export class SearchedUtterance implements OpenText {
  readonly #parts: SearchedUtteranceParts;
  /** The frame that is taken, `[vocabulary]`. */
  readonly #row: Float32Array;
  readonly #firstOwnFrame: number;
  #nextFrame: number;
  /** Best output of the last frame. */
  #lastBest = BLANK;
  /** A run of it that began in a frame that was passed goes on. */
  #isPassing = false;
  #hasLetters = false;
  /** What the streaming head gave out behind `#read`, spaces left out. */
  readonly #letters: number[] = [];
  #bestText = 0;
  #hasNews = false;
  /** What the second pass read before the last pause, and how many tokens of the search it stands for. */
  #read = "";
  #readTokens = 0;
  /** Tokens that were settled when the search was asked last, and the text of those behind `#readTokens`. */
  #settledTokens = 0;
  #settledText = "";
  #promisedTokens = 0;
  /** What it reads in the pause that lasts. */
  #reading: string | null = null;
  #told = "";
  #promised = "";

  /** @param firstOwnFrame letters that come out in frames before it were said in the utterance before */
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
    this.#hasNews ||= bestText !== this.#bestText;
    this.#bestText = bestText;
  }

  takeNews(): ToldText | null {
    // What the second pass reads is better than what the search has.
    if (!this.#hasNews || !this.#hasLetters || this.#reading !== null) return null;
    this.#hasNews = false;
    const { tokens, settled } = this.#parts.search.grown();
    if (settled > this.#settledTokens) this.#settle(tokens, settled);
    return this.#tell(this.#behindRead(this.#searched(tokens, tokens.length)));
  }

  hearReading(text: string): ToldText | null {
    if (text === "" || !this.#hasLetters) return null;
    this.#reading = continuedText(this.#promised, text);
    return this.#tell(this.#reading);
  }

  goOn(): void {
    if (this.#reading === null) return;
    this.#read = this.#reading;
    this.#promised = this.#reading;
    this.#reading = null;
    this.#letters.length = 0;
    this.#parts.search.keepBestText();
    this.#readTokens = this.#parts.search.grown().tokens.length;
    this.#settledTokens = this.#readTokens;
    this.#settledText = "";
    this.#promisedTokens = this.#readTokens;
  }

  /** The second pass has them. */
  takeLate(): null {
    return null;
  }

  #isLetter(output: number): boolean {
    return this.#parts.vocabulary[output]!.trim() !== "";
  }

  #settle(tokens: ArrayLike<number>, settled: number): void {
    this.#settledText = this.#searched(tokens, settled);
    this.#settledTokens = settled;
    const promised = this.#endAsHeard(tokens, settled);
    if (promised <= this.#promisedTokens) return;
    this.#promisedTokens = promised;
    const own = Array.prototype.slice.call(tokens, this.#readTokens, promised);
    this.#promised = this.#behindRead(textOf(own, this.#parts.vocabulary));
  }

  /** Behind the last of the settled words that are what the streaming head gave out. */
  #endAsHeard(tokens: ArrayLike<number>, settled: number): number {
    let end = this.#readTokens;
    let heard = 0;
    for (let i = this.#readTokens; i < settled; i++) {
      if (!this.#isLetter(tokens[i]!)) end = i;
      else if (this.#letters[heard++] !== tokens[i]) return end;
    }
    return settled;
  }

  /** The search's text behind what was read, up to the token `end`. */
  #searched(tokens: ArrayLike<number>, end: number): string {
    const { vocabulary } = this.#parts;
    let text = this.#settledText;
    for (let i = this.#settledTokens; i < end; i++) text = withPiece(text, vocabulary[tokens[i]!]!);
    return text;
  }

  #behindRead(text: string): string {
    return this.#read === "" || text === "" ? this.#read + text : `${this.#read} ${text}`;
  }

  #tell(text: string): ToldText | null {
    if (text === "" || text === this.#told) return null;
    this.#told = text;
    return { text, stable: countCodePoints(this.#promised) };
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
