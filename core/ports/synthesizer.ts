import type { Chunking } from "../domain/synthesis/solver-chunks.js";
import type { Urgency } from "../domain/synthesis/urgency.js";
import type { Span } from "./span.js";

/** A piece of text of at most one sentence, to be synthesized. */
export interface SynthesisJob {
  readonly modelId: string;
  readonly voice: string;
  /** Spoken form: only characters of the model (see `symbols.json`), not empty. */
  readonly spokenText: string;
  /** Tempo relative to the model's training: the requested speed times the voice's pace. */
  readonly speed: number;
  /** Relative length of the pauses at marks; 1 by default. */
  readonly breath?: number | undefined;
  /** Relative range of the pitch, if the model's family supports it; 1 by default. */
  readonly melody?: number | undefined;
  /** Solver steps, 4 to 64. */
  readonly nfe: number;
  /** Seeds the initial noise, so that the same job gives the same samples. */
  readonly seed: number;
  /**
   * `whole` by default. Growing chunks let a listener hear the start before the rest is synthesized. Both
   * sound the same but have different samples.
   */
  readonly chunking?: Chunking;
}

/** Mono PCM, 16-bit, at `sampleRateHz`. */
export interface SynthesizedPiece {
  readonly pcm: Int16Array;
  readonly sampleRateHz: number;
  /**
   * `[characters + 1]`: the sample of `pcm` at which each character of the spoken text starts, and at which
   * the last one ends; null if the model does not report it.
   */
  readonly characterBounds: Int32Array | null;
}

/** Options that depend on the listener of a piece. */
export interface SpeakOptions {
  /** `whole` by default. */
  readonly urgency?: Urgency;
  /** Time of the request by the synthesizer's clock; now by default. */
  readonly askedAtMs?: number;
  /**
   * Called with `characterBounds` before the first part of a piece in growing chunks, if the model knows
   * them; the last bounds may be in silence that is not sent.
   */
  readonly onBounds?: (characterBounds: Int32Array) => void;
  /** Called with each part of the piece in order, as soon as it is synthesized. */
  readonly onPcm?: (pcm: Int16Array) => void;
  readonly span?: Span;
}

export interface Synthesizer {
  /**
   * Synthesizes one piece, faded at both ends, with silence of a set length around the speech. Aborting
   * `signal` ends the work within one solver step.
   * @throws {ServiceError} `CANCELLED`, `WORKER_LOST`, `ENGINE_BUSY`, `MODEL_BROKEN`
   */
  speak(job: SynthesisJob, signal: AbortSignal, options?: SpeakOptions): Promise<SynthesizedPiece>;
}
