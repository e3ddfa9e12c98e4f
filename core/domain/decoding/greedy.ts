import { type FramedTokens, type FrameTiming, type TimedWord, timedWords, withPiece } from "./words.js";

const BLANK = 0;

/** Decodes CTC greedily, frame by frame: the best output of each frame, with repeats and blanks removed. */
export class GreedyDecoder {
  readonly #vocabulary: readonly string[];
  readonly #tokens: number[] = [];
  readonly #firstFrames: number[] = [];
  readonly #lastFrames: number[] = [];
  #frameCount = 0;
  #lastBest = BLANK;
  #logProbSum = 0;
  /** Grows with the tokens: rebuilding it for each partial would take quadratic time. */
  #text = "";

  constructor(vocabulary: readonly string[]) {
    this.#vocabulary = vocabulary;
  }

  /** Frames processed since the last reset. */
  get frameCount(): number {
    return this.#frameCount;
  }

  /** Number of tokens so far; the text changes only when it does. */
  get tokenCount(): number {
    return this.#tokens.length;
  }

  /** Tokens so far and their frames. */
  get tokens(): FramedTokens {
    return { tokens: this.#tokens, firstFrames: this.#firstFrames, lastFrames: this.#lastFrames };
  }

  get text(): string {
    return this.#text.trimEnd();
  }

  /** Geometric mean of the chosen outputs' probabilities, 0 to 1; 1 before any frame. */
  get confidence(): number {
    return this.#frameCount === 0 ? 1 : Math.exp(this.#logProbSum / this.#frameCount);
  }

  /** @param logProbs `[frames, vocabulary]`, natural log; may be longer than `frames` rows */
  push(logProbs: Float32Array, frames: number): void {
    const width = this.#vocabulary.length;
    for (let frame = 0; frame < frames; frame++) {
      const row = frame * width;
      const best = bestToken(logProbs, row, width);
      this.take(best, logProbs[row + best]!);
    }
  }

  /** Adds a frame, given its most probable output. */
  take(best: number, logProb: number): void {
    if (best !== BLANK) {
      if (best === this.#lastBest) {
        // There is no token if the run started in a skipped frame.
        if (this.#tokens.length > 0) this.#lastFrames[this.#tokens.length - 1] = this.#frameCount;
      } else {
        this.#tokens.push(best);
        this.#firstFrames.push(this.#frameCount);
        this.#lastFrames.push(this.#frameCount);
        this.#text = withPiece(this.#text, this.#vocabulary[best]!);
      }
    }
    this.#lastBest = best;
    this.#logProbSum += logProb;
    this.#frameCount++;
  }

  /** Skips a frame that is no part of this text: a run that continues from it starts no token. */
  pass(best: number): void {
    this.#lastBest = best;
    this.#frameCount++;
  }

  words(timing?: FrameTiming): TimedWord[] {
    return timedWords(this.tokens, this.#vocabulary, timing);
  }

  /** Starts again; the next frame is frame 0. */
  reset(): void {
    this.#tokens.length = 0;
    this.#firstFrames.length = 0;
    this.#lastFrames.length = 0;
    this.#frameCount = 0;
    this.#lastBest = BLANK;
    this.#logProbSum = 0;
    this.#text = "";
  }
}

/** Returns the most likely output of the row at `offset`, the first among equals. */
export function bestToken(logProbs: Float32Array, offset: number, width: number): number {
  let best = BLANK;
  for (let token = 1; token < width; token++) {
    if (logProbs[offset + token]! > logProbs[offset + best]!) best = token;
  }
  return best;
}
