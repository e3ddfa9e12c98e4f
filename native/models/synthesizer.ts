import type { SynthesisJob } from "../../src/ports/synthesizer.js";
import type { SynthesizerManifest } from "./manifest.js";

/** Lets the thread hear its messages between two runs; rejects with `CANCELLED` when nobody wants the piece any more. */
export type Checkpoint = () => Promise<void>;

/**
 * What a synthesis worker needs of a family whose pieces are made one at a time, with nothing to share between them.
 * Runs are synchronous inside onnxruntime.
 */
export interface PieceModel {
  readonly manifest: SynthesizerManifest;
  /**
   * @param checkpoint awaited before each run but the first
   * @returns mono, -1 to 1, at the manifest's rate
   */
  speak(job: SynthesisJob, checkpoint: Checkpoint): Promise<Float32Array>;
  /** Frees the graphs' memory; nothing may be run afterwards. */
  release(): Promise<void>;
}
