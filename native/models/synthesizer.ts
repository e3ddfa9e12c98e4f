import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import type { SynthesizerManifest } from "./manifest.js";

/** What a piece may ask of the worker while it is made. */
export interface PieceTurn {
  /** Aborted when the piece is not wanted any more. */
  readonly signal: AbortSignal;
  /** Awaited before each run but the first: the thread hears its messages. Rejects with `CANCELLED` after `signal`. */
  checkpoint(): Promise<void>;
  /**
   * Hands on the next samples, mono, -1 to 1, at the manifest's rate; settles when there is room for more. Rejects with
   * `CANCELLED` after `signal`.
   */
  give(samples: Float32Array): Promise<void>;
}

/**
 * What a synthesis worker needs of a family whose pieces are made one at a time, with nothing to share between them.
 * Runs are synchronous inside onnxruntime.
 */
export interface PieceModel {
  readonly manifest: SynthesizerManifest;
  /**
   * Gives a piece in one part or several.
   * @returns `characterBounds` as in `SynthesizedPiece`, in samples of the manifest's rate
   */
  speak(job: SynthesisJob, turn: PieceTurn): Promise<Int32Array | null>;
  /** Frees the graphs' memory; nothing may be run afterwards. */
  release(): Promise<void>;
}
