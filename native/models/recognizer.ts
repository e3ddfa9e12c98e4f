import type { RecognizerManifest } from "./manifest.js";
import type { EncoderState, StateRows } from "./state-rows.js";

/** Sizes of the buffers that batches of several shapes share: only one of them runs at a time. */
export interface StepCapacity {
  readonly rows: number;
  /** Rows times frames. */
  readonly frames: number;
}

/** The buffers of one batch shape of the streaming step, allocated once and reused by every run of that shape. */
export interface StepBatch {
  readonly rows: number;
  readonly frames: number;
  /** `[rows, frames * frameSamples]`, -1 to 1. */
  readonly pcm: Float32Array;
  readonly state: EncoderState;
  /** `[rows, frames, vocabulary]`, natural log, of the streaming head. */
  readonly logProbs: Float32Array;
  /** `[rows, frames]`, probability that the frame is speech. */
  readonly speech: Float32Array;
  /** `[rows, frames, encodedSize]`, what the second pass works on. */
  readonly encoded: Float32Array;
  /** Of each row's owner after the run. */
  readonly nextState: EncoderState;
  /**
   * @param from holds the rows' states instead of `state`
   * @param to gets them instead of `nextState`; another one than `from`
   */
  run(from?: StateRows, to?: StateRows): Promise<void>;
}

/** Log-probs of an utterance. */
export interface LogProbs {
  /** `[frames * vocabulary]`, natural log. */
  readonly logProbs: Float32Array;
  /** Rows, each of `outputFrameSamples`. */
  readonly frames: number;
}

/** What live and file workers need of a recogniser, whatever its family. Runs are synchronous inside onnxruntime. */
export interface RecognizerModel {
  readonly manifest: RecognizerManifest;
  /** Output 0 is the blank. A space, alone or at the beginning of an output, begins a word. */
  readonly vocabulary: readonly string[];
  /** Floats of one stream's state. */
  readonly stateSize: number;
  /** Bytes of it besides. */
  readonly stateBytes: number;
  /** Floats that a step leaves of each frame for the second pass. */
  readonly encodedSize: number;
  /** Frames of audio before a frame on which what a step leaves of it depends, at most. */
  readonly reachFrames: number;
  /** Samples that one row of the second pass stands for. */
  readonly outputFrameSamples: number;
  /** Steps by which a frame's row of log-probs may come later than the frame, the same throughout a stream. */
  readonly lagFrames: number;
  /** What the outputs' priors add to log-probs before the search, see `outputBias`; null for a model without them. */
  readonly outputBias: Float32Array | null;
  /** Milliseconds spent in runs of the graphs so far. */
  readonly runMs: number;
  /** Makes batches of any shape that fits, over one set of buffers. */
  stepBatches(capacity: StepCapacity): (rows: number, frames: number) => StepBatch;
  /** Buffers of its own for batches of this shape. */
  stepBatch(rows: number, frames: number): StepBatch;
  /** Like `stepBatch`, for who wants voice activity alone: what `logProbs` holds is not said. */
  speechBatch(rows: number, frames: number): StepBatch;
  /** Second passes that share a run give to the last bit what each gives alone; else they are run one by one. */
  readonly refinesTogether: boolean;
  /** The second pass over what the steps have left of consecutive frames, `[frames, encodedSize]` of each utterance. */
  refine(utterances: readonly Float32Array[]): Promise<readonly LogProbs[]>;
  /** The second pass over the audio itself: mono, -1 to 1, at the manifest's rate. */
  decodeUtterance(pcm: Float32Array): Promise<LogProbs>;
  /**
   * For models whose steps tell no text: log-probs of utterances that are still spoken, several in a run where the graph takes
   * them. Each is mono, -1 to 1. What comes may differ from `decodeUtterance` at the end of the audio. Null for models that stream.
   */
  readonly decodeSoFar: ((pcms: readonly Float32Array[]) => Promise<readonly LogProbs[]>) | null;
  /** Frees the graphs' memory; nothing may be run afterwards. */
  release(): Promise<void>;
}
