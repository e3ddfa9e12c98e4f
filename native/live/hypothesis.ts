import { GreedyDecoder } from "../../core/domain/decoding/greedy.js";

/** Text that is told of an utterance before its final. */
export interface ToldText {
  readonly text: string;
  /** Code points that will not change; absent when it is all of them. */
  readonly stable?: number;
}

/** The best outputs of a flush behind an utterance. */
export interface LateOutputs {
  readonly startFrame: number;
  readonly best: ArrayLike<number>;
}

/** What is left to say of an utterance that has ended, before its final. */
export interface EndedText {
  /** Letters have come out since the utterance began: an utterance of which something was told must be seen to end. */
  readonly hasLetters: boolean;
  /** Takes what comes out in the silence of the flush; null when that is no news. */
  takeLate(late: LateOutputs): ToldText | null;
  /** The second pass has read so, in a pause that lasts or for the final; null when that is not told. */
  hearReading(text: string): ToldText | null;
}

/** The text of an open utterance, which grows with the frames of the streaming head. */
export interface OpenText extends EndedText {
  /** Takes the best output of the next frame, and the frame itself where it is still known: the row at `offset`. */
  take(best: number, logProb: number, logProbs?: Float32Array, offset?: number): void;
  /** The text, which counts as told from now on; null when there is none or it was told before. */
  takeNews(): ToldText | null;
  /** Speech goes on behind a pause. */
  goOn(): void;
}

/** The letters of the streaming head as they come out, for models without a language model: what the streaming head has heard of one utterance, and how much of that its listener was told. */
export class LiveHypothesis implements OpenText {
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

  take(best: number, logProb: number): void {
    this.#hasLetters ||= this.#vocabulary[best]!.trim() !== "";
    this.#decode(best, logProb);
  }

  takeLate({ startFrame, best }: LateOutputs): ToldText | null {
    // Unless frames of the audio came out there.
    if (startFrame === this.#nextFrame) for (let i = 0; i < best.length; i++) this.#decode(best[i]!, 0);
    return this.takeNews();
  }

  /** All that was told is stable, and the second pass may read it otherwise. */
  hearReading(): null {
    return null;
  }

  goOn(): void {}

  takeNews(): ToldText | null {
    if (this.#greedy.tokenCount === this.#toldTokens) return null;
    this.#toldTokens = this.#greedy.tokenCount;
    const { text } = this.#greedy;
    if (text === "" || text === this.#toldText) return null;
    this.#toldText = text;
    return { text };
  }

  #decode(best: number, logProb: number): void {
    if (this.#nextFrame++ < this.#firstOwnFrame) this.#greedy.pass(best);
    else this.#greedy.take(best, logProb);
  }
}
