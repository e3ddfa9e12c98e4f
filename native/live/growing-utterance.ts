import { type AgreedText, LocalAgreement } from "../../core/domain/decoding/local-agreement.js";
import type { TimedWord } from "../../core/domain/decoding/words.js";
import type { EndedText } from "./hypothesis.js";

/** The first reading comes when so much was heard, later ones at least so much after the last: 0.6 and 0.32 s. */
const FIRST_FRAMES = 15;
const LEAST_FRAMES = 8;
/** A reading of a longer window waits longer: for an eighth of what it reads. */
const WINDOW_SHARE = 8;
/** Read again before what is agreed, so that words have something to their left: 1.6 s. */
const CONTEXT_FRAMES = 40;

/**
 * An open utterance of a model that cannot stream: it is read again while it grows, and what readings agree on is stable.
 * Frames are the session's.
 */
export class GrowingUtterance implements EndedText {
  readonly startFrame: number;
  readonly #frameSeconds: number;
  readonly #agreement = new LocalAgreement();
  #readUntil: number;
  #windowFrames = 0;
  #told: AgreedText = { text: "", stable: 0 };
  #hasLetters: boolean;

  /** @param wasShown another worker has told text of it */
  constructor(startFrame: number, frameSeconds: number, wasShown: boolean) {
    this.startFrame = startFrame;
    this.#frameSeconds = frameSeconds;
    this.#readUntil = startFrame;
    this.#hasLetters = wasShown;
  }

  /** Text of it was told: its end must be told too. */
  get hasLetters(): boolean {
    return this.#hasLetters;
  }

  /** Frames by which a reading is overdue when `endFrame` frames were heard; below 0 when it is too soon. */
  overdueFrames(endFrame: number): number {
    const isFirst = this.#windowFrames === 0;
    const wait = isFirst
      ? FIRST_FRAMES
      : Math.max(LEAST_FRAMES, Math.ceil(this.#windowFrames / WINDOW_SHARE));
    return endFrame - this.#readUntil - wait;
  }

  /** First frame of the next reading: some context before what is agreed, and no more than `longestFrames` back. */
  windowStart(endFrame: number, longestFrames: number): number {
    const agreedFrame = Math.floor(this.#agreement.agreedSeconds / this.#frameSeconds);
    return Math.max(this.startFrame, agreedFrame - CONTEXT_FRAMES, endFrame - longestFrames);
  }

  /**
   * Takes what was read of the frames from `windowStart` to `endFrame`.
   *
   * @param words times in seconds of the session
   * @returns what is to be told; null when that is nothing new
   */
  hear(words: readonly TimedWord[], windowStart: number, endFrame: number): AgreedText | null {
    if (windowStart > this.startFrame) {
      // What lies before is not read any more; within the context a word may have lost its beginning.
      this.#agreement.settleBefore((windowStart + CONTEXT_FRAMES / 2) * this.#frameSeconds);
    }
    this.#readUntil = endFrame;
    this.#windowFrames = endFrame - windowStart;
    const agreed = this.#agreement.hear(words, endFrame * this.#frameSeconds);
    if (agreed.text === "") return null;
    if (agreed.text === this.#told.text && agreed.stable === this.#told.stable) return null;
    this.#told = agreed;
    this.#hasLetters = true;
    return agreed;
  }

  /** Its final comes next: what was not told is not told any more. */
  takeLate(): null {
    return null;
  }

  hearReading(): null {
    return null;
  }
}
