import { type AgreedText, LocalAgreement } from "../../core/domain/decoding/local-agreement.js";
import type { TimedWord } from "../../core/domain/decoding/words.js";
import type { Reading } from "../models/utterance-reader.js";
import type { EndedText } from "./hypothesis.js";

/** Frames before the first reading: 0.6 s. */
const FIRST_FRAMES = 15;
/** Minimum number of frames between two readings: 0.32 s. */
const LEAST_FRAMES = 8;
/** The wait grows with the window: up to an eighth of its frames. */
const WINDOW_SHARE = 8;
/** Left context of a reading before the agreed text: 1.6 s. */
const CONTEXT_FRAMES = 40;

/**
 * An open utterance of a model that cannot stream: it is read repeatedly while it grows, and text on which
 * readings agree is stable. Frames are the session's.
 */
export class GrowingUtterance implements EndedText {
  readonly startFrame: number;
  /** The windows read so far, for the final. */
  readonly reading: Reading | null;
  readonly #frameSeconds: number;
  readonly #agreement = new LocalAgreement();
  #readUntil: number;
  #windowFrames = 0;
  #reported: AgreedText = { text: "", stable: 0 };
  #hasLetters: boolean;

  /** @param parts `wasShown`: another worker has reported text of the utterance */
  constructor(parts: {
    readonly startFrame: number;
    readonly frameSeconds: number;
    readonly reading: Reading | null;
    readonly wasShown: boolean;
  }) {
    this.startFrame = parts.startFrame;
    this.reading = parts.reading;
    this.#frameSeconds = parts.frameSeconds;
    this.#readUntil = parts.startFrame;
    this.#hasLetters = parts.wasShown;
  }

  /** Whether text was reported, so that the end must be reported too. */
  get hasLetters(): boolean {
    return this.#hasLetters;
  }

  /** Returns the frames by which a reading is overdue at `endFrame`; negative if it is too early. */
  overdueFrames(endFrame: number): number {
    const isFirst = this.#windowFrames === 0;
    const wait = isFirst
      ? FIRST_FRAMES
      : Math.max(LEAST_FRAMES, Math.ceil(this.#windowFrames / WINDOW_SHARE));
    return endFrame - this.#readUntil - wait;
  }

  /** Returns the start of the next reading: before the agreed text, at most `longestFrames` back. */
  windowStart(endFrame: number, longestFrames: number): number {
    const agreedFrame = Math.floor(this.#agreement.agreedSeconds / this.#frameSeconds);
    return Math.max(this.startFrame, agreedFrame - CONTEXT_FRAMES, endFrame - longestFrames);
  }

  /**
   * Adds the result of reading the frames from `windowStart` to `endFrame`.
   *
   * @param words times in seconds of the session
   * @returns the text to report; null if it has not changed, or if more has been read already
   */
  take(words: readonly TimedWord[], windowStart: number, endFrame: number): AgreedText | null {
    if (endFrame <= this.#readUntil) return null;
    if (windowStart > this.startFrame) {
      // Text before the window is never read again. Within the context, a word may lack its start.
      this.#agreement.settleBefore((windowStart + CONTEXT_FRAMES / 2) * this.#frameSeconds);
    }
    this.#readUntil = endFrame;
    this.#windowFrames = endFrame - windowStart;
    const agreed = this.#agreement.hear(words, endFrame * this.#frameSeconds);
    if (agreed.text === "") return null;
    if (agreed.text === this.#reported.text && agreed.stable === this.#reported.stable) return null;
    this.#reported = agreed;
    this.#hasLetters = true;
    return agreed;
  }

  /** Ignores the flush, which only the second pass reads. */
  takeFlush(): null {
    return null;
  }

  /** Reports the text of the final, unless it contradicts stable words. */
  takeSecondPass(text: string): AgreedText | null {
    const { text: reported, stable } = this.#reported;
    const kept = [...reported].slice(0, stable).join("");
    if (text === "" || text === reported || !text.startsWith(kept)) return null;
    this.#reported = { text, stable };
    this.#hasLetters = true;
    return this.#reported;
  }
}
