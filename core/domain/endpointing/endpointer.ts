import { FRAME_SAMPLES, LIVE_RATE_HZ } from "../audio/frame.js";
import { SpeakerLevel, type SpeakerState } from "./speaker-level.js";

const FRAME_MS = (1_000 * FRAME_SAMPLES) / LIVE_RATE_HZ;

/** Frames of silence fed after the last audio, so that speech right before the end is still seen as speech. */
export const FINISH_FRAMES = 8;

/** All counts are frames of 40 ms. */
export interface EndpointerOptions {
  /** A frame becomes speech at this probability or above. */
  readonly onThreshold: number;
  /** Speech goes on until a frame falls below this probability. */
  readonly offThreshold: number;
  /** Consecutive speech frames that open an utterance; fewer are taken for a click. */
  readonly openingFrames: number;
  /** Audio kept before the first speech frame. */
  readonly leadFrames: number;
  /** Silence that ends an utterance. */
  readonly pauseFrames: number;
  /** Longest utterance, lead included. */
  readonly longestFrames: number;
  /** A longest utterance is cut at the least likely speech within so many of its last frames. */
  readonly cutWindowFrames: number;
  /** Speech without a new letter for so long ends the utterance; infinite where letters are not known frame by frame. */
  readonly wordlessFrames: number;
}

export const ENDPOINTER_DEFAULTS: EndpointerOptions = {
  onThreshold: 0.5,
  offThreshold: 0.3,
  openingFrames: 2,
  leadFrames: 8,
  pauseFrames: 5,
  longestFrames: 750,
  cutWindowFrames: 125,
  wordlessFrames: Number.POSITIVE_INFINITY,
};

/** `wordless`: voice activity went on, but no letter came any more. */
export type EndpointReason = "pause" | "too-long" | "finalize" | "wordless";

/** `endFrame` is exclusive: one past the last speech frame, or the frame where a longest utterance
 * was cut. `speechMean` is the mean probability of speech of the frames from the first of speech to the end. */
export type EndpointEvent =
  | { readonly type: "started" | "resumed"; readonly utterance: number; readonly startFrame: number }
  | {
      readonly type: "halfway";
      readonly utterance: number;
      readonly startFrame: number;
      readonly endFrame: number;
      readonly speechMean: number;
    }
  | {
      readonly type: "ended";
      readonly utterance: number;
      readonly startFrame: number;
      readonly endFrame: number;
      readonly speechMean: number;
      readonly reason: EndpointReason;
      /** Letters came out of it, as far as its frames say; true where they do not. */
      readonly hasLetters: boolean;
      /** The speaker's level at the end, for a session that continues from there. */
      readonly speaker: SpeakerState | null;
      /** The utterance was ended in the middle of speech: what follows belongs to the same run of it. */
      readonly isMidSpeech: boolean;
    };

/** Who decides how long a pause may be: the threshold alone, or also what the language model expects behind the text. */
export const ENDPOINTINGS = ["fixed", "adaptive"] as const;
export type Endpointing = (typeof ENDPOINTINGS)[number];

/** The longest pause is so many thresholds. */
export const MOST_PATIENCE = 3;

/** How many times the threshold a pause may last before it ends the utterance, at most `MOST_PATIENCE`; asked when the threshold has passed. */
export type Patience = () => number;

/** Probabilities are summed in whole steps: a sum is then the same wherever counting began. */
const STEPS = 1 << 16;
const NO_EVENTS: readonly EndpointEvent[] = [];

/** Evidence about a frame besides its probability of speech. */
export interface HeardFrame {
  /** See `levelDb` of the audio; 0 throughout where it is not known. */
  readonly levelDb: number;
  /** A new letter came out in it; true where letters are not known frame by frame. */
  readonly hasLetter: boolean;
}

export const NOTHING_MORE: HeardFrame = { levelDb: 0, hasLetter: true };

/** Voice activity that has no letters may go on for so much longer than a pause would have to last. */
const WORDLESS_FRAMES = 25;

/** See `EndpointerOptions.wordlessFrames`. */
export function wordlessFramesFor(longestPauseFrames: number): number {
  return longestPauseFrames + WORDLESS_FRAMES;
}

/** Silence in frames that is at least `pauseMs` long. */
export function pauseFramesFor(pauseMs: number): number {
  return Math.max(1, Math.ceil(pauseMs / FRAME_MS));
}

/**
 * Finds utterances in a row of speech probabilities, one per 40 ms frame.
 *
 * An utterance opens with `openingFrames` of speech in a row and ends after `pauseFrames` of silence. `halfway` comes when
 * half of that silence has passed, in time for a second decoding pass; `resumed` takes it back. Utterances are numbered
 * from 0, come in order and never overlap. Only the frames decide, and patience where it is given: nothing depends on how
 * audio arrived.
 *
 * A frame of speech counts if it is loud enough to be the near speaker's (`SpeakerLevel`). In a room where voice activity never
 * ends, an utterance ends when no letters come any more.
 */
export class Endpointer {
  readonly #options: EndpointerOptions;
  readonly #halfwayFrames: number;
  readonly #patience: Patience | null;
  /** The last frames, each at its number modulo the length. */
  readonly #probabilities: Float32Array;
  readonly #speechFlags: Uint8Array;
  readonly #levels: Float32Array;
  readonly #letterFlags: Uint8Array;
  /** Sum of the probabilities before each of these frames, in steps. */
  readonly #sums: Float64Array;
  #sum = 0;
  /** Frames taken, and frames that have come. */
  #frameCount = 0;
  #heldCount = 0;
  #isSpeech = false;
  #speechRun = 0;
  #utterance = -1;
  #isOpen = false;
  #startFrame = 0;
  /** One past the last speech frame of the open utterance. */
  #speechEnd = 0;
  /** First frame of speech of the open utterance, and sums before it and before the end. */
  #speechStart = 0;
  #startSum = 0;
  #endSum = 0;
  /** No utterance may begin before this frame. */
  #earliestStart = 0;
  readonly #speaker: SpeakerLevel;
  /** One past the last frame of the open utterance that had a letter; its first frame of speech until there is one. */
  #lettersEnd = 0;
  #hasLetters = false;

  /**
   * @param isMidSpeech frame 0 follows the end of an utterance that was ended in the middle of speech
   * @param speaker of what came before frame 0
   * @throws {RangeError} when the options contradict each other
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
    this.#halfwayFrames = Math.ceil(this.#options.pauseFrames / 2);
    // One frame more than the window: a cut looks at the frame before it. An opening looks back as far as its lead.
    const { cutWindowFrames, leadFrames, openingFrames, pauseFrames, wordlessFrames } = this.#options;
    const longestPause = patience === null ? pauseFrames : pauseFrames * MOST_PATIENCE;
    const wordless = Number.isFinite(wordlessFrames) ? wordlessFrames : 0;
    const held = Math.max(cutWindowFrames, leadFrames + openingFrames, longestPause, wordless) + 1;
    this.#probabilities = new Float32Array(held);
    this.#speechFlags = new Uint8Array(held);
    this.#sums = new Float64Array(held);
    this.#levels = new Float32Array(held);
    this.#letterFlags = new Uint8Array(held);
    this.#isSpeech = isMidSpeech;
    this.#speechRun = isMidSpeech ? this.#options.openingFrames - 1 : 0;
  }

  /** Frames seen so far. */
  get frameCount(): number {
    return this.#frameCount;
  }

  /** True between `started` and `ended`. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Frames of silence that are missing until `halfway`; null in speech, behind `halfway`, and between utterances. */
  get framesToHalfway(): number | null {
    const silenceFrames = this.#frameCount - this.#speechEnd;
    if (!this.#isOpen || silenceFrames === 0 || silenceFrames >= this.#halfwayFrames) return null;
    return this.#halfwayFrames - silenceFrames;
  }

  /** Number of the open utterance, or of the last one; -1 before the first. */
  get utterance(): number {
    return this.#utterance;
  }

  /** First frame that a later event can still ask for: audio before it may be forgotten. */
  get earliestNeededFrame(): number {
    if (this.#isOpen) return this.#startFrame;
    const onset = this.#frameCount - this.#speechRun;
    return Math.max(this.#earliestStart, onset - this.#options.leadFrames, 0);
  }

  /** The speaker's level for a session that continues from this frame, between utterances. */
  speakerAt(frame: number): SpeakerState | null {
    return this.#speaker.at(frame);
  }

  /** Takes the next frame. NaN counts as silence. The returned array is only read. */
  push(
    speechProbability: number,
    { levelDb, hasLetter }: HeardFrame = NOTHING_MORE,
  ): readonly EndpointEvent[] {
    const slot = this.#heldCount++ % this.#probabilities.length;
    this.#probabilities[slot] = Number.isNaN(speechProbability) ? 0 : speechProbability;
    this.#levels[slot] = levelDb;
    this.#letterFlags[slot] = hasLetter ? 1 : 0;
    this.#sums[slot] = this.#sum;
    this.#sum += Math.round(this.#probabilities[slot]! * STEPS);
    return this.#takeHeld(null);
  }

  /** Ends the open utterance now; the speech so far is its end. Nothing happens between utterances. */
  finalizeNow(): readonly EndpointEvent[] {
    if (!this.#isOpen) return NO_EVENTS;
    const isMidSpeech = this.#speechEnd === this.#frameCount;
    return this.#takeHeld(this.#end({ end: this.#speechEnd, sum: this.#endSum }, "finalize", isMidSpeech));
  }

  /**
   * Takes the frames that are held and not taken yet. An end lies in the past: the frames after it are taken again, by an
   * endpointer that has just begun, so that a session that is replayed from there finds the same.
   */
  #takeHeld(first: EndpointEvent | null): readonly EndpointEvent[] {
    let events: EndpointEvent[] | null = first === null ? null : [first];
    while (this.#frameCount < this.#heldCount) {
      const frame = this.#frameCount++;
      const before = { end: this.#speechEnd, sum: this.#endSum };
      const event = this.#step(frame);
      if (event !== null) events = [...(events ?? []), event];
      if (!this.#isOpen) continue;
      // Silence after a longest utterance ends it by itself; only more speech has to be cut.
      if (this.#speechEnd - this.#startFrame > this.#options.longestFrames) {
        events = [...(events ?? []), this.#cut(before)];
      } else if (this.#frameCount - this.#lettersEnd >= this.#options.wordlessFrames) {
        events = [...(events ?? []), this.#endWordless()];
      }
    }
    return events ?? NO_EVENTS;
  }

  #step(frame: number): EndpointEvent | null {
    const slot = frame % this.#probabilities.length;
    this.#isSpeech = this.#isNearSpeech(frame, slot);
    this.#speechFlags[slot] = this.#isSpeech ? 1 : 0;
    this.#speechRun = this.#isSpeech ? this.#speechRun + 1 : 0;
    if (!this.#isOpen) return this.#speechRun >= this.#options.openingFrames ? this.#start(frame) : null;
    if (this.#letterFlags[slot] === 1) {
      this.#lettersEnd = frame + 1;
      this.#hasLetters = true;
    }
    if (this.#isSpeech) return this.#extend(frame);
    const silenceFrames = frame + 1 - this.#speechEnd;
    if (this.#isOver(silenceFrames))
      return this.#end({ end: this.#speechEnd, sum: this.#endSum }, "pause", false);
    if (silenceFrames !== this.#halfwayFrames) return null;
    return {
      type: "halfway",
      utterance: this.#utterance,
      startFrame: this.#startFrame,
      endFrame: this.#speechEnd,
      speechMean: this.#meanUpTo({ end: this.#speechEnd, sum: this.#endSum }),
    };
  }

  #isNearSpeech(frame: number, slot: number): boolean {
    const { onThreshold, offThreshold } = this.#options;
    const threshold = this.#isSpeech ? offThreshold : onThreshold;
    const level = this.#levels[slot]!;
    const needed = this.#isOpen
      ? this.#speaker.toHold(threshold, level)
      : this.#speaker.toOpen(threshold, level, frame);
    return this.#probabilities[slot]! >= needed;
  }

  #isOver(silenceFrames: number): boolean {
    const { pauseFrames } = this.#options;
    if (silenceFrames < pauseFrames) return false;
    return this.#patience === null || silenceFrames >= pauseFrames * this.#patience();
  }

  #meanUpTo({ end, sum }: SpeechEnd): number {
    return (sum - this.#startSum) / STEPS / (end - this.#speechStart);
  }

  #sumBefore(frame: number): number {
    return frame === this.#heldCount ? this.#sum : this.#sums[frame % this.#sums.length]!;
  }

  #start(frame: number): EndpointEvent {
    const onset = frame + 1 - this.#speechRun;
    this.#isOpen = true;
    this.#utterance++;
    this.#startFrame = Math.max(this.#earliestStart, onset - this.#options.leadFrames, 0);
    this.#speechEnd = frame + 1;
    this.#endSum = this.#sumBefore(frame + 1);
    // A run of speech may have begun before the utterance, in the one before it.
    const first = Math.max(onset, this.#startFrame);
    this.#speechStart = first;
    this.#startSum = this.#sumBefore(first);
    this.#lettersEnd = first;
    this.#hasLetters = false;
    for (let heard = first; heard <= frame; heard++) {
      const slot = heard % this.#levels.length;
      if (heard === first) this.#speaker.begin(this.#levels[slot]!);
      else this.#speaker.follow(this.#levels[slot]!);
      if (this.#letterFlags[slot] === 0) continue;
      this.#lettersEnd = heard + 1;
      this.#hasLetters = true;
    }
    return { type: "started", utterance: this.#utterance, startFrame: this.#startFrame };
  }

  #extend(frame: number): EndpointEvent | null {
    const wasHalfway = frame - this.#speechEnd >= this.#halfwayFrames;
    this.#speechEnd = frame + 1;
    this.#endSum = this.#sumBefore(frame + 1);
    this.#speaker.follow(this.#levels[frame % this.#levels.length]!);
    return wasHalfway ? { type: "resumed", utterance: this.#utterance, startFrame: this.#startFrame } : null;
  }

  /** Ends the open utterance; what comes next is the frame at its end. */
  #end(at: SpeechEnd, reason: EndpointReason, isMidSpeech: boolean): EndpointEvent {
    const speechMean = this.#meanUpTo(at);
    this.#isOpen = false;
    this.#earliestStart = at.end;
    this.#speaker.end(this.#hasLetters, at.end);
    this.#frameCount = at.end;
    this.#isSpeech = isMidSpeech;
    // Inside a run of speech the rest belongs to the same run, however short it is: it opens at once.
    this.#speechRun = isMidSpeech ? this.#options.openingFrames - 1 : 0;
    return {
      type: "ended",
      utterance: this.#utterance,
      startFrame: this.#startFrame,
      endFrame: at.end,
      speechMean,
      reason,
      hasLetters: this.#hasLetters,
      speaker: this.#speaker.at(at.end),
      isMidSpeech,
    };
  }

  /** Ends the utterance in its best gap. */
  #cut(before: SpeechEnd): EndpointEvent {
    const cutFrame = this.#bestGap();
    const isMidSpeech = this.#speechFlags[(cutFrame - 1) % this.#speechFlags.length] === 1;
    const cut = { end: cutFrame, sum: this.#sumBefore(cutFrame) };
    return this.#end(before.end < cutFrame ? before : cut, "too-long", isMidSpeech);
  }

  /** Ends an utterance in which nothing is said any more after its last letter. */
  #endWordless(): EndpointEvent {
    // Letters come out late, so speech had ended before the last of them. Without any, all of it was something else.
    const end = this.#hasLetters ? Math.min(this.#speechEnd, this.#lettersEnd) : this.#frameCount;
    return this.#end({ end, sum: this.#sumBefore(end) }, "wordless", false);
  }

  /** The frame of least probable speech in the window, the latest of equals. */
  #bestGap(): number {
    let best = this.#frameCount - 1;
    for (let frame = best - 1; frame >= this.#frameCount - this.#options.cutWindowFrames; frame--) {
      if (this.#probabilityOf(frame) < this.#probabilityOf(best)) best = frame;
    }
    return best;
  }

  #probabilityOf(frame: number): number {
    return this.#probabilities[frame % this.#probabilities.length]!;
  }
}

/** An end of speech, exclusive, and the sum of all probabilities before it. */
interface SpeechEnd {
  readonly end: number;
  readonly sum: number;
}

function checkedOptions(options: EndpointerOptions): EndpointerOptions {
  const { onThreshold, offThreshold, openingFrames, leadFrames, pauseFrames, longestFrames } = options;
  if (!(offThreshold <= onThreshold)) {
    throw new RangeError(
      `offThreshold must be at most ${onThreshold} (onThreshold), received ${offThreshold}`,
    );
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
  // A cut must leave the opening of the utterance on its left side.
  const shortest = options.cutWindowFrames + leadFrames + openingFrames;
  if (!Number.isInteger(longestFrames) || longestFrames < shortest) {
    throw new RangeError(
      `longestFrames must be a whole number of at least ${shortest}, received ${longestFrames}`,
    );
  }
  return options;
}
