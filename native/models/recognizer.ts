import type { TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import type { LogProbs } from "./log-probs.js";
import type { RecognizerManifest } from "./manifest.js";
import type { EncoderState, StateRows } from "./state-rows.js";
import type { Reading, UtteranceReader } from "./utterance-reader.js";

/** Size of the buffers that batches of several shapes share; only one runs at a time. */
export interface StepCapacity {
  readonly rows: number;
  readonly frames: number;
}

/** Buffers for one batch shape of the streaming step, allocated once and reused by every run. */
export interface StepBatch {
  readonly rows: number;
  readonly frames: number;
  /** `[rows, frames * frameSamples]`, -1 to 1. */
  readonly pcm: Float32Array;
  readonly state: EncoderState;
  /** Streaming head: `[rows, frames, vocabulary]`, natural log. */
  readonly logProbs: Float32Array;
  /** `[rows, frames]`, probability that the frame is speech. */
  readonly speech: Float32Array;
  /** Input of the second pass: `[rows, frames, encodedSize]`. */
  readonly encoded: Float32Array;
  readonly nextState: EncoderState;
  /**
   * @param to receives the states in place of `nextState`; must not be `from`
   */
  run(from?: StateRows, to?: StateRows): Promise<void>;
}

/** A recogniser of any family, as live and file workers use it. Runs are synchronous inside onnxruntime. */
export interface RecognizerModel {
  readonly manifest: RecognizerManifest;
  /** Output 0 is the blank. A space, alone or at the start of an output, starts a word. */
  readonly vocabulary: readonly string[];
  /** Number of floats in a stream's state. */
  readonly stateSize: number;
  /** Number of additional bytes in a stream's state. */
  readonly stateBytes: number;
  /** Number of floats per frame that a step outputs for the second pass. */
  readonly encodedSize: number;
  /** Number of previous frames on which this output depends. */
  readonly reachFrames: number;
  /** Number of samples per row of the second pass. */
  readonly outputFrameSamples: number;
  /** Added to log-probs before the search, see `outputBias`; null without priors. */
  readonly outputBias: Float32Array | null;
  /** Milliseconds spent in runs of the graphs so far. */
  readonly runMs: number;
  /** Makes batches of any shape within the capacity, over one set of buffers. */
  stepBatches(capacity: StepCapacity): (rows: number, frames: number) => StepBatch;
  /** Makes a batch with separate buffers. */
  stepBatch(rows: number, frames: number): StepBatch;
  /** Like `stepBatch`, for callers that do not need `logProbs`, which may stay empty. */
  speechBatch(rows: number, frames: number): StepBatch;
  /** Whether second passes in one run are bit-identical to single ones; otherwise they run one by one. */
  readonly refinesTogether: boolean;
  /**
   * Runs the second pass over consecutive output frames of steps, `[frames, encodedSize]` per utterance.
   * @param readings what `reader` has read of each utterance
   */
  refine(
    utterances: readonly Float32Array[],
    readings?: readonly (Reading | null)[],
  ): Promise<readonly LogProbs[]>;
  /**
   * Runs the second pass over audio: mono, -1 to 1, at the manifest's rate.
   * @param reading what `reader` has read of it
   */
  decodeUtterance(pcm: Float32Array, reading?: Reading | null): Promise<LogProbs>;
  /**
   * Decodes utterances that are still being spoken (mono, -1 to 1), several per run if the graph allows. May
   * differ from `decodeUtterance` at the end of the audio. Null for models that stream.
   */
  readonly decodeSoFar: ((pcms: readonly Float32Array[]) => Promise<readonly LogProbs[]>) | null;
  /** Reads utterances in chunks or windows while they are spoken; null for models whose steps output text. */
  readonly reader: UtteranceReader | null;
  /** Makes a search through the model's own graphs, which falls back on another; absent for CTC heads. */
  readonly searchOver?: ((fallback: TokenSearch) => TokenSearch) | undefined;
  /** Frees the graphs' memory; nothing may run afterwards. */
  release(): Promise<void>;
}
