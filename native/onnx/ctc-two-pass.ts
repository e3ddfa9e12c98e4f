import { type InferenceSession, Tensor } from "onnxruntime-node";
import { SpeechError } from "../../src/domain/errors.js";
import { type GraphOptions, loadGraph } from "./graph.js";
import { type ModelPackage, type RecognizerManifest, readPackageFile } from "./model-package.js";

const STREAM = {
  file: "stream",
  inputs: ["pcm", "state"],
  outputs: ["log_probs", "speech", "encoded", "next_state"],
} as const;
const FULL = { file: "full", inputs: ["encoded", "mask"], outputs: ["log_probs"] } as const;

/** The buffers of one batch shape of the streaming step, allocated once and reused by every run of that shape. */
export interface StepBatch {
  readonly rows: number;
  readonly frames: number;
  /** `[rows, frames * frameSamples]`, -1 to 1. */
  readonly pcm: Float32Array;
  /** `[rows, stateSize]`; zeros begin a stream. */
  readonly state: Float32Array;
  /** `[rows, frames, vocabulary]`, natural log, of the causal head. */
  readonly logProbs: Float32Array;
  /** `[rows, frames]`, probability that the frame is speech. */
  readonly speech: Float32Array;
  /** `[rows, stateSize]`, to be copied back to each row's owner. */
  readonly nextState: Float32Array;
  run(): Promise<void>;
}

/**
 * The recogniser's graphs: a causal streaming encoder with CTC and speech heads, and a full-context second pass over
 * the encoder's output. Rows of a batch do not depend on each other. Runs are synchronous inside onnxruntime, so
 * this lives in a worker thread only.
 */
export class CtcTwoPass {
  readonly manifest: RecognizerManifest;
  readonly vocabulary: readonly string[];
  readonly stateSize: number;
  readonly encodedSize: number;
  readonly #stream: InferenceSession;
  readonly #full: InferenceSession;

  private constructor(parts: {
    manifest: RecognizerManifest;
    vocabulary: readonly string[];
    stream: InferenceSession;
    full: InferenceSession;
  }) {
    this.manifest = parts.manifest;
    this.vocabulary = parts.vocabulary;
    this.#stream = parts.stream;
    this.#full = parts.full;
    this.stateSize = lastDimension(parts.stream.inputMetadata, "state", parts.manifest.id);
    this.encodedSize = lastDimension(parts.full.inputMetadata, "encoded", parts.manifest.id);
    const outputs = lastDimension(parts.full.outputMetadata, "log_probs", parts.manifest.id);
    if (outputs !== parts.vocabulary.length) {
      throw new SpeechError(
        "MODEL_BROKEN",
        `Cannot load ${parts.manifest.id}: vocabulary must have ${outputs} entries, found ${parts.vocabulary.length}`,
      );
    }
  }

  /** @throws {SpeechError} `MODEL_BROKEN` naming the file that is missing, damaged or of another interface */
  static async load(model: ModelPackage<RecognizerManifest>, options: GraphOptions): Promise<CtcTwoPass> {
    const vocabulary = JSON.parse(
      new TextDecoder().decode(await readPackageFile(model, "vocabulary")),
    ) as string[];
    const stream = await loadGraph(model, STREAM, options);
    const full = await loadGraph(model, FULL, options);
    return new CtcTwoPass({ manifest: model.manifest, vocabulary, stream, full });
  }

  /** Buffers for batches of this shape. */
  stepBatch(rows: number, frames: number): StepBatch {
    const { frameSamples } = this.manifest;
    const vocabulary = this.vocabulary.length;
    const pcm = new Float32Array(rows * frames * frameSamples);
    const state = new Float32Array(rows * this.stateSize);
    const logProbs = new Float32Array(rows * frames * vocabulary);
    const speech = new Float32Array(rows * frames);
    const nextState = new Float32Array(rows * this.stateSize);
    const feeds = {
      pcm: new Tensor("float32", pcm, [rows, frames * frameSamples]),
      state: new Tensor("float32", state, [rows, this.stateSize]),
    };
    // Outputs are written in place; `encoded` is not asked for, so the step does not copy it out.
    const fetches = {
      log_probs: new Tensor("float32", logProbs, [rows, frames, vocabulary]),
      speech: new Tensor("float32", speech, [rows, frames]),
      next_state: new Tensor("float32", nextState, [rows, this.stateSize]),
    };
    const run = async () => {
      await this.#stream.run(feeds, fetches);
    };
    return { rows, frames, pcm, state, logProbs, speech, nextState, run };
  }

  /**
   * Log-probs of a whole utterance with full context.
   *
   * @param pcm mono, `[samples]`, -1 to 1, at the manifest's rate; silence to flush the tail is added here
   * @returns `[frames * vocabulary]`, natural log, and the frame count (flush frames included)
   */
  async decodeUtterance(pcm: Float32Array): Promise<{ logProbs: Float32Array; frames: number }> {
    const { frameSamples, flushSamples } = this.manifest;
    const frames = Math.ceil((pcm.length + flushSamples) / frameSamples);
    const padded = new Float32Array(frames * frameSamples);
    padded.set(pcm);
    const { encoded } = await this.#stream.run(
      {
        pcm: new Tensor("float32", padded, [1, padded.length]),
        state: new Tensor("float32", new Float32Array(this.stateSize), [1, this.stateSize]),
      },
      ["encoded"],
    );
    const { log_probs } = await this.#full.run({
      encoded: encoded as Tensor,
      mask: new Tensor("float32", new Float32Array(frames).fill(1), [1, frames]),
    });
    return { logProbs: (log_probs as Tensor).data as Float32Array, frames };
  }

  /** Frees the graphs' memory; nothing may be run afterwards. */
  async release(): Promise<void> {
    await this.#stream.release();
    await this.#full.release();
  }
}

function lastDimension(
  metadata: readonly InferenceSession.ValueMetadata[],
  tensor: string,
  modelId: string,
): number {
  const found = metadata.find((value) => value.name === tensor);
  const size = found?.isTensor ? found.shape.at(-1) : undefined;
  if (typeof size === "number" && size > 0) return size;
  throw new SpeechError("MODEL_BROKEN", `Cannot load ${modelId}: last dimension of ${tensor} must be fixed`);
}
