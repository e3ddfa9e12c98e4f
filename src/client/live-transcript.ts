import { FRAME_SAMPLES, LIVE_RATE_HZ } from "../../core/domain/audio/frame.js";
import { STOP } from "./live-sentences.js";
import type { LiveFinal, LiveMessage, LivePartial, LiveResult } from "./live-types.js";

/** Left context of the encoder, 1.6 s. With it, audio that is sent again gives the same result. */
const CONTEXT_SAMPLES = 40 * FRAME_SAMPLES;
/**
 * A longer utterance may have been cut at 30 s, within speech. Sent from an earlier position, it is cut
 * elsewhere.
 */
const MAYBE_CUT_SAMPLES = 24 * LIVE_RATE_HZ;
/** A final that ends this close to the end of the accepted audio was cut off because the service stopped. */
const STOP_MARGIN_SAMPLES = LIVE_RATE_HZ;

type DoneMessage = Extract<LiveMessage, { readonly type: "done" }>;

interface Span {
  readonly startSample: number;
  readonly endSample: number;
}

/**
 * Joins the results of several sockets into one transcript. After a lost connection, the next socket gets the
 * audio since shortly before the end of the last final. Results that the caller already has are dropped here,
 * and times and numbers continue, so no final is lost or repeated.
 */
export class LiveTranscript {
  /** Samples of the session before the first sample of the current socket. */
  #offsetSamples = 0;
  #last: Span | null = null;
  #finalCount = 0;
  #isServiceStopping = false;
  /** The last final of a stopping service, held back because it may be cut off. */
  #held: LiveFinal | null = null;
  /** `display_text` of the last final that has one. */
  #lastText = "";
  /** The closing punctuation that the socket reported, empty for none; null if unknown. */
  #openMark: string | null = null;
  /** Whether the last final came from the current socket. */
  #isLastOfSocket = false;

  get offsetSamples(): number {
    return this.#offsetSamples;
  }

  /** Start of the next socket's audio: a frame boundary at or before the end of the last final. */
  get resumeSample(): number {
    if (this.#last === null) return 0;
    const { startSample, endSample } = this.#last;
    const context = endSample - startSample > MAYBE_CUT_SAMPLES ? 0 : CONTEXT_SAMPLES;
    // The service works in frames, so audio that starts on a frame boundary gives the same result.
    return Math.max(0, Math.floor(endSample / FRAME_SAMPLES) * FRAME_SAMPLES - context);
  }

  /**
   * Punctuation that ends the whole text; empty if the text already ends with it, or is not readable text.
   */
  get displayEnd(): string {
    if (this.#lastText === "" || STOP.test(this.#lastText)) return "";
    const mark = this.#openMark;
    return mark === "" || (mark !== null && STOP.test(mark)) ? mark : ".";
  }

  /** Starts another socket, whose audio begins at `offsetSamples`. */
  startSocket(offsetSamples: number): void {
    this.#offsetSamples = offsetSamples;
    this.#isServiceStopping = false;
    this.#isLastOfSocket = false;
    this.#dropHeld();
  }

  /** Accepts a result of the current socket and returns the results to deliver. */
  accept(message: LivePartial | LiveFinal): readonly LiveResult[] {
    if (message.type === "partial") return this.#partial(message);
    const { startSample, endSample } = this.#spanOf(message);
    // This result is a repeat: new ones start after the pause that ended the last final.
    if (this.#last !== null && (startSample + endSample) / 2 < this.#last.endSample) return [];
    if (!this.#isServiceStopping) return [this.#forward(message)];
    const before = this.releaseHeld();
    this.#held = message;
    return before;
  }

  /** Notes that the service is stopping. It will end the open utterance, even within a word. */
  serviceStopping(): void {
    this.#isServiceStopping = true;
  }

  /** Returns the held final if the audio that the service accepted completes it; otherwise drops it. */
  settle(done: DoneMessage, { endOfUtteranceMs, isAll }: DoneRules): readonly LiveResult[] {
    const acceptedSample = this.#offsetSamples + toSamples(done.audio_seconds);
    const marginSamples = (endOfUtteranceMs / 1_000) * LIVE_RATE_HZ + STOP_MARGIN_SAMPLES;
    const isWhole =
      this.#held === null || isAll || this.#spanOf(this.#held).endSample < acceptedSample - marginSamples;
    if (!isWhole) return [];
    const results = this.releaseHeld();
    // A socket without finals has no punctuation to report.
    if (done.display_end || this.#isLastOfSocket) this.#openMark = done.display_end ?? null;
    return results;
  }

  /** Returns the held final, because no other socket will replace it. */
  releaseHeld(): readonly LiveResult[] {
    const held = this.#held;
    this.#held = null;
    return held === null ? [] : [this.#forward(held)];
  }

  /** Drops the held final. The next socket repeats it, but not the text that joins it to the previous one. */
  #dropHeld(): void {
    const mark = this.#held?.display_before?.trimEnd() ?? "";
    if (mark !== "") this.#openMark = mark;
    this.#held = null;
  }

  #partial(message: LivePartial): readonly LiveResult[] {
    // The next socket repeats this part of the audio.
    if (this.#isServiceStopping) return [];
    const { startSample } = this.#spanOf(message);
    if (this.#last !== null) {
      const knownStart = Math.max(this.#offsetSamples, this.#last.startSample);
      if (startSample < (knownStart + this.#last.endSample) / 2) return [];
    }
    return [this.#inSession(message)];
  }

  #forward(message: LiveFinal): LiveFinal {
    const final = this.#joined(this.#inSession(message));
    this.#last = this.#spanOf(message);
    this.#finalCount++;
    return final;
  }

  /** Joins a final to the previous one, as the service does within a socket. */
  #joined(final: LiveFinal): LiveFinal {
    const { display_text, display_before = "" } = final;
    if (display_text === undefined || display_text === "") return final;
    const isFirst = this.#lastText === "";
    const isEnded = STOP.test(this.#lastText);
    const mark = display_before === "" ? (this.#openMark ?? "") : display_before.trimEnd();
    this.#lastText = display_text;
    this.#openMark = null;
    this.#isLastOfSocket = true;
    return { ...final, display_before: isFirst ? "" : isEnded ? " " : `${mark} ` };
  }

  #inSession<T extends LivePartial | LiveFinal>(message: T): T {
    const shifted = {
      ...message,
      utterance: this.#finalCount,
      start: this.#shift(message.start),
      end: this.#shift(message.end),
    };
    if (message.type === "partial") return shifted;
    const { words, display_words, redactions } = message;
    return {
      ...shifted,
      ...(words !== undefined && { words: this.#shiftAll(words) }),
      ...(display_words !== undefined && { display_words: this.#shiftAll(display_words) }),
      ...(redactions !== undefined && { redactions: this.#shiftAll(redactions) }),
    };
  }

  #shiftAll<T extends { readonly start: number; readonly end: number }>(items: readonly T[]): readonly T[] {
    return items.map((item) => ({ ...item, start: this.#shift(item.start), end: this.#shift(item.end) }));
  }

  #spanOf({ start, end }: LiveResult): Span {
    return {
      startSample: this.#offsetSamples + toSamples(start),
      endSample: this.#offsetSamples + toSamples(end),
    };
  }

  /** Adds times as whole samples, so that the sum has no more digits than its parts. */
  #shift(seconds: number): number {
    if (this.#offsetSamples === 0) return seconds;
    return (this.#offsetSamples + toSamples(seconds)) / LIVE_RATE_HZ;
  }
}

interface DoneRules {
  readonly endOfUtteranceMs: number;
  /** Whether the caller closed the session and the service accepted all audio. */
  readonly isAll: boolean;
}

function toSamples(seconds: number): number {
  return Math.round(seconds * LIVE_RATE_HZ);
}
