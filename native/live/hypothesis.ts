import { GreedyDecoder } from "../../core/domain/decoding/greedy.js";
import { ENDPOINTER_DEFAULTS } from "../../core/domain/endpointing/endpointer.js";
import type { RecognizerModel } from "../models/recognizer.js";

export interface PartialText {
  readonly text: string;
  /** Leading code points that will not change; all of them if absent. */
  readonly stable?: number;
}

/** The streaming head's best outputs for the silence that flushes an utterance. */
export interface FlushOutputs {
  readonly startFrame: number;
  readonly best: ArrayLike<number>;
}

/** Text of an utterance that has ended and awaits its final. */
export interface EndedText {
  /** Whether the utterance has had letters, so clients may have seen a partial and must see its end. */
  readonly hasLetters: boolean;
  /** Takes the outputs of the flush; null if the text has not changed. */
  takeFlush(flush: FlushOutputs): PartialText | null;
  /** Takes the text of the second pass, in a pause or for the final; null if it is not reported. */
  takeSecondPass(text: string): PartialText | null;
}

/** Text of an open utterance, which grows with the frames of the streaming head. */
export interface OpenText extends EndedText {
  /** The best text so far. */
  readonly text: string;
  /** Takes the next frame's best output, and its row at `offset` of `logProbs` unless it is forgotten. */
  take(best: number, logProb: number, logProbs?: Float32Array, offset?: number): void;
  /** Returns the text, which then counts as reported; null if it is empty or already reported. */
  takeUpdate(): PartialText | null;
  onResumed(): void;
}

/** Partials from the streaming head's letters alone, for models without a language model. */
export class LiveHypothesis implements OpenText {
  readonly #vocabulary: readonly string[];
  readonly #greedy: GreedyDecoder;
  readonly #firstOwnFrame: number;
  /** The next frame of the session. */
  #nextFrame: number;
  #reportedTokens = 0;
  #reportedText = "";
  #hasLetters = false;

  /** @param firstOwnFrame letters in earlier frames belong to the previous utterance */
  constructor(vocabulary: readonly string[], startFrame: number, firstOwnFrame: number) {
    this.#vocabulary = vocabulary;
    this.#greedy = new GreedyDecoder(vocabulary);
    this.#nextFrame = startFrame;
    this.#firstOwnFrame = firstOwnFrame;
  }

  /** Whether there are letters; also true for those of the previous utterance. */
  get hasLetters(): boolean {
    return this.#hasLetters;
  }

  get text(): string {
    return this.#greedy.text;
  }

  take(best: number, logProb: number): void {
    this.#hasLetters ||= this.#vocabulary[best]!.trim() !== "";
    this.#decode(best, logProb);
  }

  takeFlush({ startFrame, best }: FlushOutputs): PartialText | null {
    // Skip the flush if real frames of the audio have followed.
    if (startFrame === this.#nextFrame) for (let i = 0; i < best.length; i++) this.#decode(best[i]!, 0);
    return this.takeUpdate();
  }

  /** Returns nothing: every partial counts as stable here, and the second pass may differ. */
  takeSecondPass(): null {
    return null;
  }

  onResumed(): void {}

  takeUpdate(): PartialText | null {
    if (this.#greedy.tokenCount === this.#reportedTokens) return null;
    this.#reportedTokens = this.#greedy.tokenCount;
    const { text } = this.#greedy;
    if (text === "" || text === this.#reportedText) return null;
    this.#reportedText = text;
    return { text };
  }

  #decode(best: number, logProb: number): void {
    if (this.#nextFrame++ < this.#firstOwnFrame) this.#greedy.pass(best);
    else this.#greedy.take(best, logProb);
  }
}

/** Number of remembered frames. Utterances are detected late: by their lead, or by up to a cut window. */
const REMEMBERED_FRAMES =
  ENDPOINTER_DEFAULTS.cutWindowFrames + ENDPOINTER_DEFAULTS.leadFrames + ENDPOINTER_DEFAULTS.openingFrames;

/** Best outputs of the last frames of a session, for utterances that are detected after their start. */
export class RecentOutputs {
  readonly #tokens = new Uint16Array(REMEMBERED_FRAMES);
  readonly #logProbs = new Float32Array(REMEMBERED_FRAMES);

  /** Returns the first frame that is remembered after `frame` was taken. */
  static firstFrame(frame: number): number {
    return frame - REMEMBERED_FRAMES + 1;
  }

  take(frame: number, best: number, logProb: number): void {
    this.#tokens[frame % REMEMBERED_FRAMES] = best;
    this.#logProbs[frame % REMEMBERED_FRAMES] = logProb;
  }

  /** Passes the outputs of remembered frames to a text, the last frame included. */
  giveTo(text: OpenText, firstFrame: number, lastFrame: number): void {
    for (let frame = firstFrame; frame <= lastFrame; frame++) {
      const index = frame % REMEMBERED_FRAMES;
      text.take(this.#tokens[index]!, this.#logProbs[index]!);
    }
  }
}

/** Delay of the streaming head's letters, in frames. */
export interface LetterTiming {
  /** Mean delay from a sound to the row with its letter. */
  readonly delayFrames: number;
}

/** End of an utterance: one past its last frame of speech, or the frame of a cut. */
export interface UtteranceEnd {
  readonly frame: number;
  readonly isMidSpeech: boolean;
}

export function letterTimingOf({ manifest }: RecognizerModel): LetterTiming {
  const { frameSamples, sampleRateHz, decoding } = manifest;
  const delaySeconds = decoding.emissionDelaySeconds ?? 0;
  return { delayFrames: (delaySeconds * sampleRateHz) / frameSamples };
}

/**
 * Returns the first frame with letters of the utterance that was detected at `frame`. Letters are late: those
 * spoken at the end of the previous utterance may appear after the next one has begun.
 *
 * After a cut in speech, the mean delay separates the letters. After a pause, the detected onset is a better
 * bound: no letter of the new speech appears within half of the mean delay.
 */
export function firstOwnFrame(
  { delayFrames }: LetterTiming,
  lastEnd: UtteranceEnd | null,
  frame: number,
): number {
  if (lastEnd === null) return 0;
  const afterEnd = lastEnd.frame + Math.ceil(delayFrames);
  if (lastEnd.isMidSpeech) return afterEnd;
  const onset = frame + 1 - ENDPOINTER_DEFAULTS.openingFrames;
  return Math.min(afterEnd, onset + Math.floor(delayFrames / 2));
}
