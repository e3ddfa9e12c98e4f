import type { Urgency } from "../../core/domain/synthesis/urgency.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { alignedBytes } from "./call-messages.js";

/** A request to synthesize a piece. Times are relative, because the two processes share no clock. */
export interface SpeakCall {
  readonly job: SynthesisJob;
  readonly kind: Urgency["kind"];
  /** Time until the listener runs out of audio; null before the first sound. */
  readonly runsDryInMs: number | null;
  /** Time since the request was made. */
  readonly askedAgoMs: number;
  /** Samples that the listener already has from another node. They are synthesized again but not sent. */
  readonly skipSamples: number;
}

/** A part of an unfinished piece, with exactly one of the two members. */
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

/** Returns the urgency of a call by the node's clock. */
export function urgencyOf({ kind, runsDryInMs }: SpeakCall, nowMs: number): Urgency {
  return kind === "heard" ? { kind, runsDryAtMs: nowMs + (runsDryInMs ?? 0) } : { kind };
}

export function pcmOf(bytes: Uint8Array): Int16Array {
  return new Int16Array(alignedBytes(bytes));
}

export function boundsOf(bytes: Uint8Array): Int32Array {
  return new Int32Array(alignedBytes(bytes));
}
