import type { Urgency } from "../../core/domain/synthesis/urgency.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { alignedBytes } from "./call-messages.js";

/** A piece that a front wants. Times are told as what is left of them: clocks of two processes have nothing in common. */
export interface SpeakCall {
  readonly job: SynthesisJob;
  readonly kind: Urgency["kind"];
  /** Until its listener has heard what is made so far; null for those who do not hear it yet. */
  readonly runsDryInMs: number | null;
  /** Since it was asked for. */
  readonly askedAgoMs: number;
  /** Its listener has so many samples already, from another node: they are made again and not sent. */
  readonly skipSamples: number;
}

/** What is told of a piece before it is done: one of both. */
export interface SpeakPart {
  /** `[characters + 1]`, as bytes; see `SpeakOptions.onBounds`. */
  readonly bounds?: Uint8Array | Int32Array;
  /** The next samples, as bytes. */
  readonly pcm?: Uint8Array | Int16Array;
}

export interface SpeakDone {
  readonly sampleRateHz: number;
  /** See `SynthesizedPiece.characterBounds`. */
  readonly bounds: Uint8Array | Int32Array | null;
}

export function toSpeakCall(
  parts: {
    readonly job: SynthesisJob;
    readonly urgency: Urgency;
    readonly askedAtMs: number;
    readonly skipSamples: number;
  },
  nowMs: number,
): SpeakCall {
  const { job, urgency, askedAtMs, skipSamples } = parts;
  return {
    ...{ job, skipSamples, kind: urgency.kind, askedAgoMs: nowMs - askedAtMs },
    runsDryInMs: urgency.kind === "heard" ? urgency.runsDryAtMs - nowMs : null,
  };
}

/** The urgency of a call by the clock of the node. */
export function urgencyOf({ kind, runsDryInMs }: SpeakCall, nowMs: number): Urgency {
  return kind === "heard" ? { kind, runsDryAtMs: nowMs + (runsDryInMs ?? 0) } : { kind };
}

export function pcmOf(bytes: Uint8Array): Int16Array {
  return new Int16Array(alignedBytes(bytes));
}

export function boundsOf(bytes: Uint8Array): Int32Array {
  return new Int32Array(alignedBytes(bytes));
}
