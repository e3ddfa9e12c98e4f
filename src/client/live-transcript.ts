import { FRAME_SAMPLES, LIVE_RATE_HZ } from "../../core/domain/audio/frame.js";
import type { LiveFinal, LiveMessage, LivePartial, LiveResult, ScoredWord } from "./types.js";

/** What the recognizer's ear needs to have heard before a place to hear that place the same again: 1.6 s. */
const CONTEXT_SAMPLES = 40 * FRAME_SAMPLES;
/** An utterance this long may have been cut within speech, at 30 s: what was before the cut would not be cut again. */
const MAYBE_CUT_SAMPLES = 24 * LIVE_RATE_HZ;
/** A final that ends so close to the last audio a stopping service took was ended by the stop, not by the speaker. */
const STOP_MARGIN_SAMPLES = LIVE_RATE_HZ;

type DoneMessage = Extract<LiveMessage, { readonly type: "done" }>;

/** Where an utterance of the whole session lies, in samples. */
interface Span {
  readonly startSample: number;
  readonly endSample: number;
}

/**
 * One transcript out of several sockets. After a break a new socket is told the audio since the last final once more,
 * from a little before it; results about what the caller has heard already are dropped here, and times and numbers go
 * on. So no final is lost, and none comes twice.
 */
export class LiveTranscript {
  /** Samples of the session before the first one of the current socket. */
  #offsetSamples = 0;
  #last: Span | null = null;
  #finalCount = 0;
  #isLeaving = false;
  /** The latest final since the service began to stop: it may be cut off. */
  #held: LiveFinal | null = null;

  get offsetSamples(): number {
    return this.#offsetSamples;
  }

  /** Where the next socket begins: a frame at or before the audio that no final covers yet. */
  get resumeSample(): number {
    if (this.#last === null) return 0;
    const { startSample, endSample } = this.#last;
    const context = endSample - startSample > MAYBE_CUT_SAMPLES ? 0 : CONTEXT_SAMPLES;
    // The service hears in frames: what begins on one is heard the same.
    return Math.max(0, Math.floor(endSample / FRAME_SAMPLES) * FRAME_SAMPLES - context);
  }

  /** Another socket begins, with the audio at `offsetSamples`. */
  begin(offsetSamples: number): void {
    this.#offsetSamples = offsetSamples;
    this.#isLeaving = false;
    this.#held = null;
  }

  /** Results that the caller hears of because of this one. */
  take(message: LivePartial | LiveFinal): readonly LiveResult[] {
    if (message.type === "partial") return this.#partial(message);
    const { startSample, endSample } = this.#spanOf(message);
    // Heard already: what is new begins after the pause that ended the last final.
    if (this.#last !== null && (startSample + endSample) / 2 < this.#last.endSample) return [];
    if (!this.#isLeaving) return [this.#forward(message)];
    const before = this.takeHeld();
    this.#held = message;
    return before;
  }

  /** The service is about to stop, and ends the open utterance wherever that is. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** The service has taken no more audio than `done` says: a final that was held is either whole or never was. */
  settle(done: DoneMessage, { endOfUtteranceMs, isAll }: DoneRules): readonly LiveResult[] {
    if (this.#held === null) return [];
    const acceptedSample = this.#offsetSamples + toSamples(done.audio_seconds);
    const marginSamples = (endOfUtteranceMs / 1_000) * LIVE_RATE_HZ + STOP_MARGIN_SAMPLES;
    const isWhole = isAll || this.#spanOf(this.#held).endSample < acceptedSample - marginSamples;
    return isWhole ? this.takeHeld() : [];
  }

  /** The final that is held, when nobody will ever say it better. */
  takeHeld(): readonly LiveResult[] {
    const held = this.#held;
    this.#held = null;
    return held === null ? [] : [this.#forward(held)];
  }

  #partial(message: LivePartial): readonly LiveResult[] {
    // What a stopping service still hears is heard again by the next.
    if (this.#isLeaving) return [];
    const { startSample } = this.#spanOf(message);
    if (this.#last !== null) {
      const knownStart = Math.max(this.#offsetSamples, this.#last.startSample);
      if (startSample < (knownStart + this.#last.endSample) / 2) return [];
    }
    return [this.#inSession(message)];
  }

  #forward(message: LiveFinal): LiveFinal {
    const final = this.#inSession(message);
    this.#last = this.#spanOf(message);
    this.#finalCount++;
    return final;
  }

  #inSession<T extends LivePartial | LiveFinal>(message: T): T {
    const shifted = {
      ...message,
      utterance: this.#finalCount,
      start: this.#shift(message.start),
      end: this.#shift(message.end),
    };
    if (message.type === "partial" || message.words === undefined) return shifted;
    const words = message.words.map(
      (word): ScoredWord => ({ ...word, start: this.#shift(word.start), end: this.#shift(word.end) }),
    );
    return { ...shifted, words };
  }

  #spanOf({ start, end }: LiveResult): Span {
    return {
      startSample: this.#offsetSamples + toSamples(start),
      endSample: this.#offsetSamples + toSamples(end),
    };
  }

  /** In whole samples, so that a sum shows no more digits than its parts. */
  #shift(seconds: number): number {
    if (this.#offsetSamples === 0) return seconds;
    return (this.#offsetSamples + toSamples(seconds)) / LIVE_RATE_HZ;
  }
}

interface DoneRules {
  readonly endOfUtteranceMs: number;
  /** The caller has closed the session and all of its audio was taken: the end is the caller's own. */
  readonly isAll: boolean;
}

function toSamples(seconds: number): number {
  return Math.round(seconds * LIVE_RATE_HZ);
}
