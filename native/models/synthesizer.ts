import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import type { SynthesizerManifest } from "./manifest.js";

/** The worker's side of the synthesis of one piece. */
export interface PieceTurn {
  /** Aborted when the piece is cancelled. */
  readonly signal: AbortSignal;
  /** When the listener hears its first sample, by `performance.now()`; null or absent if immediately. */
  readonly playsFromMs?: number | null;
  /** Lets the thread receive messages; await it before each run but the first. Rejects with `CANCELLED`. */
  checkpoint(): Promise<void>;
  /**
   * Sends the next samples, mono, -1 to 1, at the manifest's rate; settles when there is space for more.
   * Rejects with `CANCELLED`.
   */
  give(samples: Float32Array): Promise<void>;
}

/** A synthesizer that speaks one piece at a time. Runs are synchronous inside onnxruntime. */
export interface PieceModel {
  readonly manifest: SynthesizerManifest;
  /**
   * Synthesizes a piece and sends it in one or more parts.
   * @returns `characterBounds` as in `SynthesizedPiece`, in samples at the manifest's rate
   */
  speak(job: SynthesisJob, turn: PieceTurn): Promise<Int32Array | null>;
  /** Frees the graphs' memory; nothing may run afterwards. */
  release(): Promise<void>;
}
