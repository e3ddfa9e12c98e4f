import { Tensor } from "onnxruntime-node";
import { toInt16 } from "../../../core/domain/audio/pcm.js";
import { inputSpan, resampleSpan, type SampleSpan } from "../../../core/domain/audio/resample.js";
import { ChunkedCtc, type ChunkGraph, type ChunkInput } from "../chunked-ctc.js";
import { type GraphOptions, loadGraph, requireDimension, requireFixed } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import { brokenModel, fileNameOf, type ModelPackage } from "../package.js";
import type { PublicRecognizerManifest } from "../public-recognizer-manifest.js";
import { floatsOf, StreamCaches, type StreamState } from "../stream-caches.js";
import { readTokens, type Tokens } from "../tokens.js";
import type { CtcHead } from "../voiced-recognizer.js";

const CONTRACT = {
  file: "model",
  inputs: ["signal", "state"],
  outputs: ["logprobs", "state_next"],
} as const satisfies GraphContract;

const RATE = { fromHz: 16_000, toHz: 8_000 } as const;
/** Number of our samples per sample of the graph. */
const RATIO = RATE.fromHz / RATE.toHz;
/**
 * `PADDING` from T-one's own pipeline, 0.3 s after the audio; before the audio it is one chunk, as in
 * training.
 */
const TAIL_SAMPLES = 0.3 * RATE.fromHz;

/**
 * Loads T-one, a streaming conformer with a CTC head for telephone speech: signal int32 (in some exports
 * int16) [B, 2400, 1], samples of 16 bits at 8 kHz; state float16 [B, 219729]; logprobs f32 [B, 10, 35], rows
 * of 30 ms; state_next. The graph contains features and caches. The model was trained with 300 ms of silence
 * before and after the audio; the silence before it is read once, at load.
 *
 * @see voicekit-team/T-one at 5b62318, `tone/scripts/export.py`, and at 437ebcf, `tone/pipeline.py` (padding,
 *   delay); k2-fsa/sherpa-onnx at 001b311, `sherpa-onnx/csrc/online-t-one-ctc-model.cc`
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export async function loadTOneCtc(
  model: ModelPackage<PublicRecognizerManifest>,
  options: GraphOptions,
): Promise<CtcHead> {
  const tokens = await readTokens(model);
  const graph = await loadGraph(model, CONTRACT, options);
  const name = fileNameOf(model, "model");
  requireDimension(graph, name, "logprobs", { axis: 2, expected: tokens.width });
  const chunks = new TOneGraph(graph, name, tokens);
  await chunks.readSilence();
  return new ChunkedCtc(chunks, tokens);
}

class TOneGraph implements ChunkGraph {
  readonly rowsPerChunk: number;
  readonly samplesPerRow: number;
  readonly tailSamples = TAIL_SAMPLES;
  readonly #graph: Graph;
  readonly #name: string;
  readonly #tokens: Tokens;
  readonly #caches: StreamCaches;
  /** Samples of a chunk at the graph's rate. */
  readonly #chunkSamples: number;
  readonly #makeSignal: (samples: Int16Array) => Tensor;
  #initial: StreamState;

  constructor(graph: Graph, name: string, tokens: Tokens) {
    this.#graph = graph;
    this.#name = name;
    this.#tokens = tokens;
    this.#chunkSamples = requireFixed(graph, name, "signal", 1);
    this.rowsPerChunk = requireFixed(graph, name, "logprobs", 1);
    this.samplesPerRow = (RATIO * this.#chunkSamples) / this.rowsPerChunk;
    if (!Number.isInteger(this.samplesPerRow)) {
      const rule = `must have whole rows, found ${this.rowsPerChunk} for ${this.#chunkSamples} samples`;
      throw brokenModel(`Cannot load ${name}: logprobs ${rule}`);
    }
    const dims = [1, requireFixed(graph, name, "state", 1)];
    this.#caches = new StreamCaches(name, [{ input: "state", output: "state_next", type: "float16", dims }]);
    this.#makeSignal = signalMaker(graph, name, this.#chunkSamples);
    this.#initial = this.#caches.initial();
  }

  spanOf(chunk: number): SampleSpan {
    return inputSpan(this.#outputsOf(chunk), RATE);
  }

  initial(): StreamState {
    return [...this.#initial];
  }

  async run({ chunk, pcm, state }: ChunkInput): Promise<Float32Array> {
    const samples = toInt16(resampleSpan(pcm, this.#outputsOf(chunk), RATE));
    const answer = await this.#graph.run({ signal: this.#makeSignal(samples), ...this.#caches.feeds(state) });
    const rows = floatsOf(this.#name, "logprobs", answer, this.rowsPerChunk * this.#tokens.width);
    this.#caches.take(answer, state);
    return rows;
  }

  /** Reads the silence that precedes each utterance; its rows are not needed. */
  async readSilence(): Promise<void> {
    const { start, end } = this.spanOf(0);
    const state = this.initial();
    await this.run({ chunk: 0, pcm: new Float32Array(end - start), state });
    this.#initial = state;
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }

  #outputsOf(chunk: number): SampleSpan {
    return { start: chunk * this.#chunkSamples, end: (chunk + 1) * this.#chunkSamples };
  }
}

/** Returns a function that makes the graph's input from 16-bit samples, in the export's integer type. */
function signalMaker(graph: Graph, name: string, chunkSamples: number): (samples: Int16Array) => Tensor {
  const signal = graph.inputMetadata.find((input) => input.name === "signal");
  const type = signal?.isTensor ? signal.type : undefined;
  const dims = [1, chunkSamples, 1];
  if (type === "int32") return (samples) => new Tensor("int32", Int32Array.from(samples), dims);
  if (type === "int16") return (samples) => new Tensor("int16", samples, dims);
  throw brokenModel(`Cannot load ${name}: signal must be int32 or int16, found ${String(type)}`);
}
