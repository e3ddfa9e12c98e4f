import { GreedyDecoder } from "../../src/domain/decoding/greedy.js";

/** What is left to say of an utterance that has ended, before its final. */
export interface EndedText {
  /** See `LiveHypothesis` and `GrowingUtterance`: an utterance of which something was told must be seen to end. */
  readonly hasLetters: boolean;
  takeLate(startFrame: number, best: ArrayLike<number>): void;
  takeNews(): string | null;
}

/** What the streaming head has heard of one utterance, and how much of that its listener was told. */
export class LiveHypothesis implements EndedText {
  readonly #vocabulary: readonly string[];
  readonly #greedy: GreedyDecoder;
  readonly #firstOwnFrame: number;
  /** The frame that comes next; frames are the session's. */
  #nextFrame: number;
  #toldTokens = 0;
  #toldText = "";
  #hasLetters = false;

  /** @param firstOwnFrame letters that come out in frames before it were said in the utterance before */
  constructor(vocabulary: readonly string[], startFrame: number, firstOwnFrame: number) {
    this.#vocabulary = vocabulary;
    this.#greedy = new GreedyDecoder(vocabulary);
    this.#nextFrame = startFrame;
    this.#firstOwnFrame = firstOwnFrame;
  }

  /** Letters have come out since the utterance began, be they of the one before. */
  get hasLetters(): boolean {
    return this.#hasLetters;
  }

  /** Takes the best output of the next frame. */
  take(best: number, logProb: number): void {
    this.#hasLetters ||= this.#vocabulary[best]!.trim() !== "";
    this.#decode(best, logProb);
  }

  /** Takes what comes out in the silence of a flush from `startFrame` on, unless frames of the audio came out there. */
  takeLate(startFrame: number, best: ArrayLike<number>): void {
    if (startFrame !== this.#nextFrame) return;
    for (let i = 0; i < best.length; i++) this.#decode(best[i]!, 0);
  }

  /** The text, which counts as told from now on; null when there is none or it was told before. */
  takeNews(): string | null {
    if (this.#greedy.tokenCount === this.#toldTokens) return null;
    this.#toldTokens = this.#greedy.tokenCount;
    const { text } = this.#greedy;
    if (text === "" || text === this.#toldText) return null;
    this.#toldText = text;
    return text;
  }

  #decode(best: number, logProb: number): void {
    if (this.#nextFrame++ < this.#firstOwnFrame) this.#greedy.pass(best);
    else this.#greedy.take(best, logProb);
  }
}
