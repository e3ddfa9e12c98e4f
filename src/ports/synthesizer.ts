import type { Urgency } from "../domain/synthesis/urgency.js";

/** One sentence-sized piece of text to be spoken. */
export interface SynthesisJob {
  readonly modelId: string;
  readonly voice: string;
  /** Spoken form: model characters only (see `symbols.json`), non-empty. */
  readonly spokenText: string;
  /** 0.5 to 2; 1 is the voice's own pace. */
  readonly speed: number;
  /** Solver steps, 4 to 64. */
  readonly nfe: number;
  /** Seeds the starting noise, so that the same job gives the same samples. */
  readonly seed: number;
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
  /** Somebody waits for the piece's first sound and hears it before the rest is made: it comes soon, in a small part. */
  readonly isAwaited?: boolean;
  /** Told each part of the piece in order, as soon as it is made, each once; together they are the piece. */
  readonly onPcm?: (pcm: Int16Array) => void;
}

export interface Synthesizer {
  /**
   * Speaks one piece, faded at both ends, with silence of a set length before and after the speech. Aborting `signal`
   * ends the work within one solver step.
   * @throws {ServiceError} `CANCELLED`, `WORKER_LOST`, `ENGINE_BUSY`, `MODEL_BROKEN`
   */
  speak(job: SynthesisJob, signal: AbortSignal, options?: SpeakOptions): Promise<SynthesizedPiece>;
}
