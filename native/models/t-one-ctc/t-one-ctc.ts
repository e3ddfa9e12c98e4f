import { Tensor } from "onnxruntime-node";
import { toInt16 } from "../../../core/domain/audio/pcm.js";
import { inputSpan, resampleSpan, type SampleSpan } from "../../../core/domain/audio/resample.js";
import { ChunkedCtc, type ChunkGraph, type ChunkInput, type SharedRuns } from "../chunked-ctc.js";
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
 * Chunks in a run. Weights are read from memory once per run: on an AMD EPYC one chunk takes 25 ms, two 33,
 * four 50, eight 83, twelve 131. A run of one is rounded differently from all others.
 */
const SHARED = { leastChunks: 2, mostChunks: 8 } as const;

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
  // Devices prepare each shape, and have other costs.
  const isOnCpu = (options.placement?.provider ?? "cpu") === "cpu";
  if (isOnCpu && (await chunks.areRowsIndependent())) chunks.shareRuns();
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
  readonly #makeSignal: (samples: Int16Array, rows: number) => Tensor;
  #initial: StreamState;
  #shared: SharedRuns | undefined;

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

  get shared(): SharedRuns | undefined {
    return this.#shared;
  }

  initial(): StreamState {
    return [...this.#initial];
  }

  async run(next: ChunkInput): Promise<Float32Array> {
    const signal = this.#makeSignal(this.#samplesOf(next), 1);
    const answer = await this.#graph.run({ signal, ...this.#caches.feeds(next.state) });
    const rows = floatsOf(this.#name, "logprobs", answer, this.rowsPerChunk * this.#tokens.width);
    this.#caches.take(answer, next.state);
    return rows;
  }

  shareRuns(): void {
    this.#shared = { ...SHARED, run: (chunks) => this.#runTogether(chunks) };
  }

  async #runTogether(chunks: readonly ChunkInput[]): Promise<readonly Float32Array[]> {
    const rows = Math.max(chunks.length, SHARED.leastChunks);
    const samples = new Int16Array(rows * this.#chunkSamples);
    for (const [row, next] of chunks.entries()) samples.set(this.#samplesOf(next), row * this.#chunkSamples);
    const states = chunks.map(({ state }) => state);
    // Rows without a chunk continue the first stream in silence, and are dropped.
    const all = Array.from({ length: rows }, (_, row) => states[row] ?? states[0]!);
    const signal = this.#makeSignal(samples, rows);
    const answer = await this.#graph.run({ signal, ...this.#caches.stack(all) });
    const size = this.rowsPerChunk * this.#tokens.width;
    const found = floatsOf(this.#name, "logprobs", answer, rows * size);
    this.#caches.unstack(answer, rows, states);
    return chunks.map((_, row) => found.subarray(row * size, (row + 1) * size));
  }

  /** Tests whether a chunk's rows and state have the same bits in any shared run, alone or with others. */
  async areRowsIndependent(): Promise<boolean> {
    const read = async (streams: readonly number[]) => {
      const chunks = streams.map((stream) => this.#probeOf(stream));
      const rows = await this.#runTogether(chunks);
      return chunks.map(({ state }, at) => [rows[at]!, state[0]!.data as Uint16Array] as const);
    };
    try {
      const [[rows, state]] = (await read([0])) as [readonly [Float32Array, Uint16Array]];
      for (const count of [SHARED.leastChunks, SHARED.leastChunks + 1, SHARED.mostChunks]) {
        const others = await read(Array.from({ length: count }, (_, at) => count - 1 - at));
        const [sameRows, sameState] = others.at(-1)!;
        if (!isSame(rows, sameRows) || !isSame(state, sameState)) return false;
      }
      return true;
    } catch {
      // The export has a fixed batch size of one.
      return false;
    }
  }

  #probeOf(stream: number): ChunkInput {
    const { start, end } = this.spanOf(0);
    const pcm = Float32Array.from(
      { length: end - start },
      (_, i) => 0.2 * Math.sin((stream + 1) * i * i * 4e-6) + 0.1 * Math.sin(i / (3 + stream)),
    );
    return { chunk: 0, pcm, state: this.initial() };
  }

  #samplesOf({ chunk, pcm }: ChunkInput): Int16Array {
    return toInt16(resampleSpan(pcm, this.#outputsOf(chunk), RATE));
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

function isSame(a: Float32Array | Uint16Array, b: Float32Array | Uint16Array): boolean {
  return a.every((value, at) => value === b[at]);
}

/** Returns a function that makes the graph's input from 16-bit samples, in the export's integer type. */
function signalMaker(
  graph: Graph,
  name: string,
  chunkSamples: number,
): (samples: Int16Array, rows: number) => Tensor {
  const signal = graph.inputMetadata.find((input) => input.name === "signal");
  const type = signal?.isTensor ? signal.type : undefined;
  const dimsOf = (rows: number) => [rows, chunkSamples, 1];
  if (type === "int32") return (samples, rows) => new Tensor("int32", Int32Array.from(samples), dimsOf(rows));
  if (type === "int16") return (samples, rows) => new Tensor("int16", samples, dimsOf(rows));
  throw brokenModel(`Cannot load ${name}: signal must be int32 or int16, found ${String(type)}`);
}
