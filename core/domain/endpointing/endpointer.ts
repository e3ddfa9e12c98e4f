import { FRAME_SAMPLES, LIVE_RATE_HZ } from "../audio/frame.js";
import { MOST_PATIENCE, type Patience } from "./patience.js";
import { RecentFrames, SUM_STEPS } from "./recent-frames.js";
import { MOST_DOUBT_FRAMES, SpeakerLevel, type SpeakerState } from "./speaker-level.js";

const FRAME_MS = (1_000 * FRAME_SAMPLES) / LIVE_RATE_HZ;

/** Frames of silence appended after the last audio, so that speech right before the end is still detected. */
export const FINISH_FRAMES = 8;

/** All counts are frames of 40 ms. */
export interface EndpointerOptions {
  /** Speech starts at this probability. */
  readonly onThreshold: number;
  /** Speech ends below this probability. */
  readonly offThreshold: number;
  /** Consecutive speech frames that open an utterance; a click is shorter. */
  readonly openingFrames: number;
  /** Audio kept before the first speech frame. */
  readonly leadFrames: number;
  /** Silence that ends an utterance. */
  readonly pauseFrames: number;
  /** Silence until `halfway`, if less than half of the pause. */
  readonly halfwayFrames: number;
  /** Longest utterance, lead included. */
  readonly longestFrames: number;
  /** An utterance that is too long is cut at the least likely speech within this many of its last frames. */
  readonly cutWindowFrames: number;
  /** Speech without a new letter for this long ends the utterance; infinite if letters are not known. */
  readonly wordlessFrames: number;
  /** Evidence that only a farther voice still talks at which the utterance ends; see `DISTANT_DOUBT`. */
  readonly doubtLimit: number;
}

export const ENDPOINTER_DEFAULTS: EndpointerOptions = {
  onThreshold: 0.5,
  offThreshold: 0.3,
  openingFrames: 2,
  leadFrames: 8,
  pauseFrames: 5,
  halfwayFrames: Number.POSITIVE_INFINITY,
  longestFrames: 750,
  cutWindowFrames: 125,
  wordlessFrames: Number.POSITIVE_INFINITY,
  doubtLimit: Number.POSITIVE_INFINITY,
};

/** `wordless`: voice activity continued without new letters; `distant`: only farther voices continued. */
export type EndpointReason = "pause" | "too-long" | "finalize" | "wordless" | "distant";

/** The speaker's part of an utterance. */
interface UtteranceSpan {
  readonly startFrame: number;
  readonly endFrame: number;
  readonly speechMean: number;
}

/**
 * `endFrame` is exclusive: one past the last speech frame, or the frame where a longest utterance was cut.
 * `startFrame` of `halfway` and `ended` is later than that of `started` if farther voices came before the
 * speaker. `speechMean` is the mean probability of speech from the speaker's first frame to the end.
 */
export type EndpointEvent =
  | { readonly type: "started" | "resumed"; readonly utterance: number; readonly startFrame: number }
  | (UtteranceSpan & { readonly type: "halfway"; readonly utterance: number })
  | (UtteranceSpan & {
      readonly type: "ended";
      readonly utterance: number;
      readonly reason: EndpointReason;
      /** The utterance had letters; true if letters are not known frame by frame. */
      readonly hasLetters: boolean;
      /** The speaker's level at the end, to resume a session from there. */
      readonly speaker: SpeakerState | null;
      /** The utterance was cut in the middle of speech; the next frames continue it. */
      readonly isMidSpeech: boolean;
    });

const NO_EVENTS: readonly EndpointEvent[] = [];

/** Evidence about a frame besides its probability of speech. */
export interface HeardFrame {
  /** See `levelDb`; always 0 if levels are not known. */
  readonly levelDb: number;
  /** Whether the frame added a letter; true if letters are not known frame by frame. */
  readonly hasLetter: boolean;
}

export const NOTHING_MORE: HeardFrame = { levelDb: 0, hasLetter: true };

/** A speaker's last syllables are quiet, so they raise the doubt. */
const TRAILING_FRAMES = 5;
/** How much longer than a pause voice activity without letters may last, 1 s. */
const WORDLESS_FRAMES = 25;

/** Derives `EndpointerOptions.wordlessFrames` from the longest pause. */
export function wordlessFramesFor(longestPauseFrames: number): number {
  return longestPauseFrames + WORDLESS_FRAMES;
}

/** Converts a pause to frames, rounded up. */
export function pauseFramesFor(pauseMs: number): number {
  return Math.max(1, Math.ceil(pauseMs / FRAME_MS));
}

/**
 * Finds utterances in a sequence of speech probabilities, one per 40 ms frame.
 *
 * An utterance opens after `openingFrames` of speech in a row and ends after `pauseFrames` of silence, or
 * when letters stop. `halfway` is emitted after at most half of the pause, in time for a second decoding
 * pass; `resumed` cancels it. Frames as loud as the near speaker (`SpeakerLevel`) count as speech. Utterances
 * are numbered from 0 and never overlap. The result depends only on the frames (and on `patience`), not on
 * how the audio arrived.
 */
export class Endpointer {
  readonly #options: EndpointerOptions;
  readonly #halfwayFrames: number;
  readonly #patience: Patience | null;
  readonly #frames: RecentFrames;
  /** Frames processed; after an end, fewer than have arrived. */
  #frameCount = 0;
  #isSpeech = false;
  #speechRun = 0;
  #utterance = -1;
  #isOpen = false;
  #startFrame = 0;
  /** One past the last speech frame of the open utterance. */
  #speechEnd = 0;
  /** Sum of probabilities up to that end. */
  #endSum = 0;
  /** No utterance may begin before this frame. */
  #earliestStart = 0;
  readonly #speaker: SpeakerLevel;
  /** One past the open utterance's last frame with a letter; its first speech frame until there is one. */
  #lettersEnd = 0;
  #hasLetters = false;

  /**
   * @param isMidSpeech frame 0 continues an utterance that was ended in the middle of speech
   * @param speaker state before frame 0
   * @throws {RangeError} if the options contradict each other
   */
  constructor(
    options: Partial<EndpointerOptions> = {},
    isMidSpeech = false,
    patience: Patience | null = null,
    speaker: SpeakerState | null = null,
  ) {
    this.#patience = patience;
    this.#speaker = new SpeakerLevel(speaker);
    this.#options = checkedOptions({ ...ENDPOINTER_DEFAULTS, ...options });
    this.#halfwayFrames = Math.min(this.#options.halfwayFrames, Math.ceil(this.#options.pauseFrames / 2));
    // One frame more than the window: a cut reads the frame before it. An opening reads back over its lead.
    const { cutWindowFrames, leadFrames, openingFrames, pauseFrames, wordlessFrames } = this.#options;
    const longestPause = patience === null ? pauseFrames : pauseFrames * MOST_PATIENCE;
    const wordless = Number.isFinite(wordlessFrames) ? wordlessFrames : 0;
    const held =
      Math.max(cutWindowFrames, leadFrames + openingFrames, longestPause, wordless, MOST_DOUBT_FRAMES) + 1;
    this.#frames = new RecentFrames(held);
    this.#isSpeech = isMidSpeech;
    this.#speechRun = isMidSpeech ? this.#options.openingFrames - 1 : 0;
  }

  /** True between `started` and `ended`. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Frames of silence left until `halfway`; null during speech, after `halfway`, and between utterances. */
  get framesToHalfway(): number | null {
    const silenceFrames = this.#frameCount - this.#speechEnd;
    if (!this.#isOpen || silenceFrames === 0 || silenceFrames >= this.#halfwayFrames) return null;
    return this.#halfwayFrames - silenceFrames;
  }

  /** Whether another frame of silence may end the open utterance. */
  get mayEndNext(): boolean {
    return this.#isOpen && this.#frameCount - this.#speechEnd >= this.#options.pauseFrames - 1;
  }

  /** First frame that a later event can still refer to: audio before it may be dropped. */
  get earliestNeededFrame(): number {
    if (this.#isOpen) return this.#startFrame;
    const onset = this.#frameCount - this.#speechRun;
    return Math.max(this.#earliestStart, onset - this.#options.leadFrames, 0);
  }

  /** Returns the speaker's level that a session needs to resume at this frame, between two utterances. */
  speakerAt(frame: number): SpeakerState | null {
    return this.#speaker.at(frame);
  }

  /** Processes the next frame. NaN counts as silence. The returned array must not be changed. */
  push(
    speechProbability: number,
    { levelDb, hasLetter }: HeardFrame = NOTHING_MORE,
  ): readonly EndpointEvent[] {
    this.#frames.push(speechProbability, levelDb, hasLetter);
    return this.#processFrames(null);
  }

  /** Ends the open utterance after its last speech frame. Does nothing between utterances. */
  finalizeNow(): readonly EndpointEvent[] {
    if (!this.#isOpen) return NO_EVENTS;
    const isMidSpeech = this.#speechEnd === this.#frameCount;
    return this.#processFrames(
      this.#end({ end: this.#speechEnd, sum: this.#endSum }, "finalize", isMidSpeech),
    );
  }

  /**
   * Processes the frames that have arrived. An end is in the past: the frames after it are processed again
   * with new state, so that a session replayed from that end finds the same utterances.
   */
  #processFrames(first: EndpointEvent | null): readonly EndpointEvent[] {
    let events: EndpointEvent[] | null = first === null ? null : [first];
    while (this.#frameCount < this.#frames.count) {
      const frame = this.#frameCount++;
      const before = { end: this.#speechEnd, sum: this.#endSum };
      const event = this.#step(frame);
      if (event !== null) events = [...(events ?? []), event];
      if (!this.#isOpen) continue;
      // Silence after an utterance of maximum length ends it anyway; only further speech must be cut.
      if (this.#speechEnd - this.#startFrame > this.#options.longestFrames) {
        events = [...(events ?? []), this.#cut(before)];
      } else if (this.#frameCount - this.#lettersEnd >= this.#options.wordlessFrames) {
        events = [...(events ?? []), this.#endWordless()];
      } else if (this.#isDistant()) {
        events = [...(events ?? []), this.#endDistant()];
      }
    }
    return events ?? NO_EVENTS;
  }

  #step(frame: number): EndpointEvent | null {
    this.#isSpeech = this.#isNearSpeech(frame);
    this.#frames.markSpeech(frame, this.#isSpeech);
    this.#speechRun = this.#isSpeech ? this.#speechRun + 1 : 0;
    if (!this.#isOpen) return this.#speechRun >= this.#options.openingFrames ? this.#start(frame) : null;
    if (this.#frames.hasLetter(frame)) {
      this.#lettersEnd = frame + 1;
      this.#hasLetters = true;
    }
    if (this.#isSpeech) return this.#extend(frame);
    const silenceFrames = frame + 1 - this.#speechEnd;
    const at = { end: this.#speechEnd, sum: this.#endSum };
    if (this.#isOver(silenceFrames)) return this.#end(at, "pause", false);
    if (silenceFrames !== this.#halfwayFrames) return null;
    return { type: "halfway", utterance: this.#utterance, ...this.#span(at) };
  }

  #isNearSpeech(frame: number): boolean {
    const { onThreshold, offThreshold } = this.#options;
    const threshold = this.#isSpeech ? offThreshold : onThreshold;
    const probability = this.#frames.probability(frame);
    if (this.#isOpen) return probability >= this.#speaker.toHold(threshold, this.#frames.level(frame));
    // A session replayed from the last end knows no frame before it.
    const runStart = Math.max(this.#earliestStart, frame - this.#speechRun);
    const runDb = this.#frames.highestLevel(runStart, frame + 1);
    const levelDb = this.#frames.level(frame);
    return probability >= this.#speaker.toOpen(threshold, { levelDb, runDb, frame });
  }

  #isOver(silenceFrames: number): boolean {
    const { pauseFrames } = this.#options;
    if (silenceFrames < pauseFrames) return false;
    return this.#patience === null || silenceFrames >= pauseFrames * this.#patience();
  }

  /** Whether the speaker has paused, and only a farther voice has continued. */
  #isDistant(): boolean {
    const { doubt, nearEnd } = this.#speaker;
    return doubt >= this.#options.doubtLimit && this.#isOver(this.#frameCount - nearEnd);
  }

  /** Returns the speaker's part of the open utterance, up to an end. */
  #span({ end, sum }: SpeechEnd): UtteranceSpan {
    const { frame, sumBefore } = this.#speaker.onsetBefore(end);
    return {
      startFrame: Math.max(this.#startFrame, frame - this.#options.leadFrames),
      endFrame: end,
      speechMean: (sum - sumBefore) / SUM_STEPS / (end - frame),
    };
  }

  #start(frame: number): EndpointEvent {
    const onset = frame + 1 - this.#speechRun;
    this.#isOpen = true;
    this.#utterance++;
    this.#startFrame = Math.max(this.#earliestStart, onset - this.#options.leadFrames, 0);
    this.#speechEnd = frame + 1;
    this.#endSum = this.#frames.sumBefore(frame + 1);
    // The run of speech may have started in the utterance before this one.
    const first = Math.max(onset, this.#startFrame);
    this.#lettersEnd = first;
    this.#hasLetters = false;
    for (let heard = first; heard <= frame; heard++) {
      if (heard === first) this.#speaker.begin(heard, this.#frames);
      else this.#speaker.follow(heard, this.#frames);
      if (!this.#frames.hasLetter(heard)) continue;
      this.#lettersEnd = heard + 1;
      this.#hasLetters = true;
    }
    return { type: "started", utterance: this.#utterance, startFrame: this.#startFrame };
  }

  #extend(frame: number): EndpointEvent | null {
    const wasHalfway = frame - this.#speechEnd >= this.#halfwayFrames;
    this.#speechEnd = frame + 1;
    this.#endSum = this.#frames.sumBefore(frame + 1);
    this.#speaker.follow(frame, this.#frames);
    return wasHalfway ? { type: "resumed", utterance: this.#utterance, startFrame: this.#startFrame } : null;
  }

  /** Ends the open utterance; processing continues from the frame at its end. */
  #end(at: SpeechEnd, reason: EndpointReason, isMidSpeech: boolean): EndpointEvent {
    const span = this.#span(at);
    this.#isOpen = false;
    this.#earliestStart = at.end;
    this.#speaker.end(this.#hasLetters, at.end, reason === "distant");
    this.#frameCount = at.end;
    this.#isSpeech = isMidSpeech;
    // The rest of a run of speech opens an utterance immediately, however short it is.
    this.#speechRun = isMidSpeech ? this.#options.openingFrames - 1 : 0;
    return {
      type: "ended",
      utterance: this.#utterance,
      ...span,
      reason,
      hasLetters: this.#hasLetters,
      speaker: this.#speaker.at(at.end),
      isMidSpeech,
    };
  }

  /** Cuts an utterance of maximum length in its best gap. */
  #cut(before: SpeechEnd): EndpointEvent {
    const cutFrame = this.#bestGap();
    const isMidSpeech = this.#frames.isSpeech(cutFrame - 1);
    const cut = { end: cutFrame, sum: this.#frames.sumBefore(cutFrame) };
    return this.#end(before.end < cutFrame ? before : cut, "too-long", isMidSpeech);
  }

  /** Ends an utterance whose letters have stopped. */
  #endWordless(): EndpointEvent {
    // Letters arrive late, so speech ended before the last of them. Without letters, none of it was speech.
    const end = this.#hasLetters ? Math.min(this.#speechEnd, this.#lettersEnd) : this.#frameCount;
    return this.#end({ end, sum: this.#frames.sumBefore(end) }, "wordless", false);
  }

  /** Ends an utterance that only farther voices keep open. */
  #endDistant(): EndpointEvent {
    const end = Math.min(this.#speechEnd, this.#speaker.nearEnd + TRAILING_FRAMES);
    return this.#end({ end, sum: this.#frames.sumBefore(end) }, "distant", false);
  }

  /** Returns the frame of least probable speech in the window, the latest of equals. */
  #bestGap(): number {
    let best = this.#frameCount - 1;
    for (let frame = best - 1; frame >= this.#frameCount - this.#options.cutWindowFrames; frame--) {
      if (this.#frames.probability(frame) < this.#frames.probability(best)) best = frame;
    }
    return best;
  }
}

/** The exclusive end of speech, and the sum of the probabilities before it. */
interface SpeechEnd {
  readonly end: number;
  readonly sum: number;
}

function checkedOptions(options: EndpointerOptions): EndpointerOptions {
  const { onThreshold, offThreshold, openingFrames, leadFrames, pauseFrames, longestFrames } = options;
  if (!(offThreshold <= onThreshold)) {
    throw new RangeError(`offThreshold must be at most ${onThreshold}, received ${offThreshold}`);
  }
  for (const [name, value, least] of [
    ["openingFrames", openingFrames, 1],
    ["leadFrames", leadFrames, 0],
    ["pauseFrames", pauseFrames, 1],
    ["cutWindowFrames", options.cutWindowFrames, 1],
  ] as const) {
    if (!Number.isInteger(value) || value < least) {
      throw new RangeError(`${name} must be a whole number of at least ${least}, received ${value}`);
    }
  }
  // A cut must leave the opening of the utterance intact.
  const shortest = options.cutWindowFrames + leadFrames + openingFrames;
  if (!Number.isInteger(longestFrames) || longestFrames < shortest) {
    throw new RangeError(
      `longestFrames must be a whole number of at least ${shortest}, received ${longestFrames}`,
    );
  }
  return options;
}
