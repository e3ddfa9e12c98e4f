import { FRAME_SAMPLES, LIVE_RATE_HZ } from "../audio/frame.js";

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
}

export const ENDPOINTER_DEFAULTS: EndpointerOptions = {
  onThreshold: 0.5,
  offThreshold: 0.35,
  openingFrames: 2,
  leadFrames: 8,
  pauseFrames: 5,
  longestFrames: 750,
  cutWindowFrames: 125,
};

export type EndpointReason = "pause" | "too-long" | "finalize";

/** `endFrame` is exclusive: one past the last speech frame, or the frame where a longest utterance
 * was cut. `speechMean` is the mean probability of speech of the frames from start to end. */
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
      /** The utterance was ended in the middle of speech: what follows belongs to the same run of it. */
      readonly isMidSpeech: boolean;
    };

/** Who decides how long a pause may be: the threshold alone, or also what the language model expects behind the text. */
export const ENDPOINTINGS = ["fixed", "adaptive"] as const;
export type Endpointing = (typeof ENDPOINTINGS)[number];

/** How many times the threshold a pause may last before it ends the utterance; asked when the threshold has passed. */
export type Patience = () => number;

/** Probabilities are summed in whole steps: a sum is then the same wherever counting began. */
const STEPS = 1 << 16;
const NO_EVENTS: readonly EndpointEvent[] = [];

/** Silence in frames that is at least `pauseMs` long. */
export function pauseFramesFor(pauseMs: number): number {
  return Math.max(1, Math.ceil(pauseMs / FRAME_MS));
}

/**
 * Finds utterances in a row of speech probabilities, one per 40 ms frame.
 *
 * An utterance opens with `openingFrames` of speech in a row and ends after `pauseFrames` of silence. `halfway` comes when
 * half of that silence has passed, in time for a second decoding pass; `resumed` takes it back. Utterances are numbered
 * from 0, come in order and never overlap. Only the probabilities decide, and patience where it is given: nothing depends on how
 * audio arrived.
 */
export class Endpointer {
  readonly #options: EndpointerOptions;
  readonly #halfwayFrames: number;
  readonly #patience: Patience | null;
  /** The last frames, each at its number modulo the length. */
  readonly #probabilities: Float32Array;
  readonly #speechFlags: Uint8Array;
  /** Sum of the probabilities before each of these frames, in steps. */
  readonly #sums: Float64Array;
  #sum = 0;
  #frameCount = 0;
  #isSpeech = false;
  #speechRun = 0;
  #utterance = -1;
  #isOpen = false;
  #startFrame = 0;
  /** One past the last speech frame of the open utterance. */
  #speechEnd = 0;
  /** Sums before the first frame and before the end of the open utterance. */
  #startSum = 0;
  #endSum = 0;
  /** No utterance may begin before this frame. */
  #earliestStart = 0;

  /**
   * @param isMidSpeech frame 0 follows the end of an utterance that was ended in the middle of speech
   * @throws {RangeError} when the options contradict each other
   */
  constructor(
    options: Partial<EndpointerOptions> = {},
    isMidSpeech = false,
    patience: Patience | null = null,
  ) {
    this.#patience = patience;
    this.#options = checkedOptions({ ...ENDPOINTER_DEFAULTS, ...options });
    this.#halfwayFrames = Math.ceil(this.#options.pauseFrames / 2);
    // One frame more than the window: a cut looks at the frame before it. An opening looks back as far as its lead.
    const { cutWindowFrames, leadFrames, openingFrames } = this.#options;
    const held = Math.max(cutWindowFrames, leadFrames + openingFrames) + 1;
    this.#probabilities = new Float32Array(held);
    this.#speechFlags = new Uint8Array(held);
    this.#sums = new Float64Array(held);
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

  /** Takes the next frame. NaN counts as silence. The returned array is only read. */
  push(speechProbability: number): readonly EndpointEvent[] {
    const { onThreshold, offThreshold, longestFrames } = this.#options;
    this.#isSpeech = speechProbability >= (this.#isSpeech ? offThreshold : onThreshold);
    const frame = this.#frameCount++;
    const slot = frame % this.#probabilities.length;
    this.#probabilities[slot] = Number.isNaN(speechProbability) ? 0 : speechProbability;
    this.#speechFlags[slot] = this.#isSpeech ? 1 : 0;
    this.#sums[slot] = this.#sum;
    this.#sum += Math.round(this.#probabilities[slot]! * STEPS);
    const before = { end: this.#speechEnd, sum: this.#endSum };
    const event = this.#step(frame, this.#isSpeech);
    // Silence after a longest utterance ends it by itself; only more speech has to be cut.
    if (this.#isOpen && this.#speechEnd - this.#startFrame > longestFrames) return this.#cut(event, before);
    return event === null ? NO_EVENTS : [event];
  }

  /** Ends the open utterance now; the speech so far is its end. Nothing happens between utterances. */
  finalizeNow(): readonly EndpointEvent[] {
    if (!this.#isOpen) return NO_EVENTS;
    const isMidSpeech = this.#speechEnd === this.#frameCount;
    return [this.#end({ end: this.#speechEnd, sum: this.#endSum }, "finalize", isMidSpeech)];
  }

  #step(frame: number, isSpeech: boolean): EndpointEvent | null {
    this.#speechRun = isSpeech ? this.#speechRun + 1 : 0;
    if (!this.#isOpen) return this.#speechRun >= this.#options.openingFrames ? this.#start(frame) : null;
    if (isSpeech) return this.#extend(frame);
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

  #isOver(silenceFrames: number): boolean {
    const { pauseFrames } = this.#options;
    if (silenceFrames < pauseFrames) return false;
    return this.#patience === null || silenceFrames >= pauseFrames * this.#patience();
  }

  #meanUpTo({ end, sum }: SpeechEnd): number {
    return (sum - this.#startSum) / STEPS / (end - this.#startFrame);
  }

  #sumBefore(frame: number): number {
    return frame === this.#frameCount ? this.#sum : this.#sums[frame % this.#sums.length]!;
  }

  #start(frame: number): EndpointEvent {
    const onset = frame + 1 - this.#speechRun;
    this.#isOpen = true;
    this.#utterance++;
    this.#startFrame = Math.max(this.#earliestStart, onset - this.#options.leadFrames, 0);
    this.#speechEnd = frame + 1;
    this.#startSum = this.#sumBefore(this.#startFrame);
    this.#endSum = this.#sumBefore(frame + 1);
    return { type: "started", utterance: this.#utterance, startFrame: this.#startFrame };
  }

  #extend(frame: number): EndpointEvent | null {
    const wasHalfway = frame - this.#speechEnd >= this.#halfwayFrames;
    this.#speechEnd = frame + 1;
    this.#endSum = this.#sumBefore(frame + 1);
    return wasHalfway ? { type: "resumed", utterance: this.#utterance, startFrame: this.#startFrame } : null;
  }

  #end(at: SpeechEnd, reason: EndpointReason, isMidSpeech: boolean): EndpointEvent {
    this.#isOpen = false;
    this.#earliestStart = at.end;
    return {
      type: "ended",
      utterance: this.#utterance,
      startFrame: this.#startFrame,
      endFrame: at.end,
      speechMean: this.#meanUpTo(at),
      reason,
      isMidSpeech,
    };
  }

  /** Ends the utterance in its best gap and takes the frames after it again, as the beginning of the next one. */
  #cut(latest: EndpointEvent | null, before: SpeechEnd): readonly EndpointEvent[] {
    const events: EndpointEvent[] = latest === null ? [] : [latest];
    const cutFrame = this.#bestGap();
    const isMidSpeech = this.#speechFlags[(cutFrame - 1) % this.#speechFlags.length] === 1;
    const cut = { end: cutFrame, sum: this.#sumBefore(cutFrame) };
    events.push(this.#end(before.end < cutFrame ? before : cut, "too-long", isMidSpeech));
    // Inside a run of speech the rest belongs to the same run, however short it is: it opens at once.
    this.#speechRun = isMidSpeech ? this.#options.openingFrames - 1 : 0;
    for (let frame = cutFrame; frame < this.#frameCount; frame++) {
      const event = this.#step(frame, this.#speechFlags[frame % this.#speechFlags.length] === 1);
      if (event !== null) events.push(event);
    }
    return events;
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
