import type { Chunking } from "../domain/synthesis/solver-chunks.js";
import type { Urgency } from "../domain/synthesis/urgency.js";
import type { Span } from "./span.js";

/** One sentence-sized piece of text to be spoken. */
export interface SynthesisJob {
  readonly modelId: string;
  readonly voice: string;
  /** Spoken form: model characters only (see `symbols.json`), non-empty. */
  readonly spokenText: string;
  /** Multiplies the tempo that the model was trained at; what a request asks for times the voice's own pace. */
  readonly speed: number;
  /** Length of the pauses at marks against the model's own; 1 when absent. */
  readonly breath?: number | undefined;
  /** Range of the pitch against the model's own, where the model's family can change it; 1 when absent. */
  readonly melody?: number | undefined;
  /** Solver steps, 4 to 64. */
  readonly nfe: number;
  /** Seeds the starting noise, so that the same job gives the same samples. */
  readonly seed: number;
  /**
   * `whole` when absent. Growing chunks are for a listener who hears the beginning before the rest is made. Both are the same
   * speech, not the same samples.
   */
  readonly chunking?: Chunking;
}

/** Mono PCM, 16-bit, at `sampleRateHz`. */
export interface SynthesizedPiece {
  readonly pcm: Int16Array;
  readonly sampleRateHz: number;
  /**
   * `[characters + 1]`: the sample of `pcm` at which each character of the spoken text begins, and at which the last one
   * ends; null when the model does not tell.
   */
  readonly characterBounds: Int32Array | null;
}

/** Who waits for a piece, and how. */
export interface SpeakOptions {
  /** `whole` when absent. */
  readonly urgency?: Urgency;
  /** When it was asked for, by the synthesizer's clock; now when absent. */
  readonly askedAtMs?: number;
  /**
   * Told `characterBounds` before the first part of a piece whose chunks grow, where the model knows them; those of the end
   * may lie in silence that is not sent then.
   */
  readonly onBounds?: (characterBounds: Int32Array) => void;
  /** Told each part of the piece in order, as soon as it is made, each once; together they are the piece. */
  readonly onPcm?: (pcm: Int16Array) => void;
  /** Of the piece: what waits and what works for it are parts of it. */
  readonly span?: Span;
}

export interface Synthesizer {
  /**
   * Speaks one piece, faded at both ends, with silence of a set length before and after the speech. Aborting `signal`
   * ends the work within one solver step.
   * @throws {ServiceError} `CANCELLED`, `WORKER_LOST`, `ENGINE_BUSY`, `MODEL_BROKEN`
   */
  speak(job: SynthesisJob, signal: AbortSignal, options?: SpeakOptions): Promise<SynthesizedPiece>;
}
