import { Tensor } from "onnxruntime-node";
import { outputBias } from "../../../core/domain/decoding/output-bias.js";
import { ON_CPU, preparesShapes } from "../../../core/domain/placement/provider.js";
import { paddedFrames, paddedRows } from "../../../core/domain/placement/shared-passes.js";
import { type GraphOptions, lastDimension, loadGraph } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import type { LogProbs } from "../log-probs.js";
import type { RecognizerManifest } from "../manifest.js";
import { brokenModel, type ModelPackage } from "../package.js";
import type { RecognizerModel, StepBatch, StepCapacity } from "../recognizer.js";
import { StateRows, type StateTensors } from "../state-rows.js";
import type { CtcTwoPassContents } from "./manifest.js";

const STREAM = {
  file: "stream",
  inputs: ["pcm", "state"],
  outputs: ["log_probs", "speech", "encoded", "next_state"],
  isRowwise: true,
} as const satisfies GraphContract;
/**
 * A streaming graph may keep the history of its quantized convolutions as bytes in a separate tensor: a
 * quarter of the memory to move, with bit-identical results (`models/recipes/recognizer/pack.py`).
 */
const HISTORY = { input: "history", output: "next_history" } as const;
const FULL = {
  file: "full",
  inputs: ["encoded", "mask"],
  outputs: ["log_probs"],
  isRowwise: true,
} as const satisfies GraphContract;

/**
 * A causal streaming encoder with CTC and speech heads, and a full-context second pass over the encoder's
 * output. Rows of a batch are independent. Runs are synchronous inside onnxruntime: for worker threads only.
 */
export class CtcTwoPass implements RecognizerModel {
  readonly manifest: RecognizerManifest;
  readonly vocabulary: readonly string[];
  readonly stateSize: number;
  readonly stateBytes: number;
  readonly encodedSize: number;
  readonly decodeSoFar = null;
  readonly reader = null;
  readonly refinesTogether = true;
  readonly outputBias: Float32Array | null;
  readonly #stream: Graph;
  readonly #full: Graph;
  /** Pads second passes to a few shapes, for providers that compile each shape. */
  readonly #isPadded: boolean;
  #runMs = 0;

  private constructor(
    { manifest, contents }: ModelPackage<RecognizerManifest, CtcTwoPassContents>,
    { stream, full }: { readonly stream: Graph; readonly full: Graph },
    isPadded: boolean,
  ) {
    const { vocabulary, priors } = contents;
    const { id } = manifest;
    this.manifest = manifest;
    this.vocabulary = vocabulary;
    this.#stream = stream;
    this.#full = full;
    this.#isPadded = isPadded;
    const { priorWeight } = manifest.decoding;
    this.outputBias =
      priorWeight === undefined || priors === undefined ? null : outputBias(priors, priorWeight);
    this.stateSize = lastDimension(stream, "state", id);
    const hasHistory = stream.inputNames.includes(HISTORY.input);
    this.stateBytes = hasHistory ? lastDimension(stream, HISTORY.input, id) : 0;
    this.encodedSize = lastDimension(full, "encoded", id);
    const outputs = lastDimension(full, "log_probs", id);
    if (outputs === vocabulary.length) return;
    throw brokenModel(
      `Cannot load ${id}: vocabulary must have ${outputs} entries, found ${vocabulary.length}`,
    );
  }

  static async load(
    model: ModelPackage<RecognizerManifest, CtcTwoPassContents>,
    options: GraphOptions,
  ): Promise<CtcTwoPass> {
    const stream = await loadGraph(model, STREAM, options);
    const full = await loadGraph(model, FULL, options);
    return new CtcTwoPass(model, { stream, full }, preparesShapes((options.placement ?? ON_CPU).provider));
  }

  get runMs(): number {
    return this.#runMs;
  }

  get reachFrames(): number {
    return this.manifest.contextFrames;
  }

  get outputFrameSamples(): number {
    return this.manifest.frameSamples;
  }

  /** Returns a step batch, because the same graph outputs speech and log-probs. */
  speechBatch(rows: number, frames: number): StepBatch {
    return this.stepBatch(rows, frames);
  }

  stepBatches(capacity: StepCapacity): (rows: number, frames: number) => StepBatch {
    const { frameSamples } = this.manifest;
    const vocabulary = this.vocabulary.length;
    const pcm = new Float32Array(capacity.frames * frameSamples);
    const state = new StateRows(this, capacity.rows);
    const logProbs = new Float32Array(capacity.frames * vocabulary);
    const speech = new Float32Array(capacity.frames);
    const encoded = new Float32Array(capacity.frames * this.encodedSize);
    const nextState = new StateRows(this, capacity.rows);
    return (rows, frames) => {
      const count = rows * frames;
      const view = {
        pcm: pcm.subarray(0, count * frameSamples),
        state: state.first(rows),
        logProbs: logProbs.subarray(0, count * vocabulary),
        speech: speech.subarray(0, count),
        encoded: encoded.subarray(0, count * this.encodedSize),
        nextState: nextState.first(rows),
      };
      const feeds: Record<string, Tensor> = {
        pcm: new Tensor("float32", view.pcm, [rows, frames * frameSamples]),
      };
      // The graph writes outputs in place.
      const fetches: Record<string, Tensor> = {
        log_probs: new Tensor("float32", view.logProbs, [rows, frames, vocabulary]),
        speech: new Tensor("float32", view.speech, [rows, frames]),
        encoded: new Tensor("float32", view.encoded, [rows, frames, this.encodedSize]),
      };
      const run = async (from = state, to = nextState) => {
        const startedAtMs = performance.now();
        setState(feeds, from.tensors(rows), "state", HISTORY.input);
        setState(fetches, to.tensors(rows), "next_state", HISTORY.output);
        await this.#stream.run(feeds, fetches);
        this.#runMs += performance.now() - startedAtMs;
      };
      return { rows, frames, ...view, run };
    };
  }

  stepBatch(rows: number, frames: number): StepBatch {
    return this.stepBatches({ rows, frames: rows * frames })(rows, frames);
  }

  /** Runs the second pass over all utterances at the same time; the results are views of one tensor. */
  async refine(utterances: readonly Float32Array[]): Promise<readonly LogProbs[]> {
    const startedAtMs = performance.now();
    const counts = utterances.map(({ length }) => length / this.encodedSize);
    const longest = Math.max(...counts);
    const frames = this.#isPadded ? paddedFrames(longest) : longest;
    const rows = this.#isPadded ? paddedRows(counts.length) : counts.length;
    const { log_probs } = await this.#full.run({
      encoded: new Tensor("float32", this.#stacked(utterances, rows, frames), [
        rows,
        frames,
        this.encodedSize,
      ]),
      mask: new Tensor("float32", maskOf(counts, rows, frames), [rows, frames]),
    });
    const values = (log_probs as Tensor).data as Float32Array;
    this.#runMs += performance.now() - startedAtMs;
    const width = this.vocabulary.length;
    return counts.map((count, row) => {
      const at = row * frames * width;
      return { logProbs: values.subarray(at, at + count * width), frames: count };
    });
  }

  /** Stacks utterances to `[rows, frames, encodedSize]`; a single one of full length is not copied. */
  #stacked(utterances: readonly Float32Array[], rows: number, frames: number): Float32Array {
    const size = frames * this.encodedSize;
    const [first] = utterances;
    if (rows === 1 && first?.length === size) return first;
    const stacked = new Float32Array(rows * size);
    for (const [row, encoded] of utterances.entries()) stacked.set(encoded, row * size);
    return stacked;
  }

  /** Decodes a whole utterance with full context; adds the silence that flushes its tail. */
  async decodeUtterance(pcm: Float32Array): Promise<LogProbs> {
    const { frameSamples, flushSamples } = this.manifest;
    const frames = Math.ceil((pcm.length + flushSamples) / frameSamples);
    const padded = new Float32Array(frames * frameSamples);
    padded.set(pcm);
    const startedAtMs = performance.now();
    const feeds: Record<string, Tensor> = { pcm: new Tensor("float32", padded, [1, padded.length]) };
    setState(feeds, new StateRows(this, 1).tensors(1), "state", HISTORY.input);
    const { encoded } = await this.#stream.run(feeds, ["encoded"]);
    this.#runMs += performance.now() - startedAtMs;
    const [refined] = await this.refine([(encoded as Tensor).data as Float32Array]);
    return refined!;
  }

  async release(): Promise<void> {
    await this.#stream.release();
    await this.#full.release();
  }
}

/** Makes a mask `[rows, frames]`: 1 where an utterance has a frame. */
function maskOf(counts: readonly number[], rows: number, frames: number): Float32Array {
  const mask = new Float32Array(rows * frames);
  for (const [row, count] of counts.entries()) mask.fill(1, row * frames, row * frames + count);
  return mask;
}

function setState(
  tensors: Record<string, Tensor>,
  { values, bytes }: StateTensors,
  valuesName: string,
  bytesName: string,
): void {
  tensors[valuesName] = values;
  if (bytes !== null) tensors[bytesName] = bytes;
}
