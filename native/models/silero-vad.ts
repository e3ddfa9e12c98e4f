import { type InferenceSession, Tensor } from "onnxruntime-node";
import { type GraphOptions, loadGraph } from "./graph.js";
import type { Graph, GraphContract } from "./graph-interface.js";
import type { ModelPackage } from "./package.js";

const CONTRACT = {
  file: "vad",
  inputs: ["input", "state", "sr"],
  outputs: ["output", "stateN"],
} as const satisfies GraphContract;

const WINDOW_SAMPLES = 512;
const CONTEXT_SAMPLES = 64;
const MEMORY_SIZE = 2 * 128;
const SAMPLE_RATE_HZ = 16_000n;
/** Where a stream's state keeps the graph's memory, the context, the samples of an unfinished window and their count. */
const MEMORY = 0;
const INPUT = MEMORY + MEMORY_SIZE;
const PENDING = INPUT + CONTEXT_SAMPLES + WINDOW_SAMPLES;

/**
 * Silero VAD, versions 5 and 6, at 16 kHz: windows of 512 samples behind 64 samples of context, and a recurrent state.
 * Frames of any length are taken; a frame's probability is the highest of the windows that end in it.
 *
 * @see snakers4/silero-vad at 0a7d1f6, `src/silero_vad/utils_vad.py`, `OnnxWrapper`: input f32 [B, 576], state f32 [2, B, 128],
 * sr int64; output f32 [B, 1], stateN. Version 4, with h and c, is another interface and is refused.
 */
export class SileroVad {
  /** Floats of one stream's state; zeros begin a stream. */
  readonly stateSize = PENDING + 1;
  readonly #graph: Graph;
  readonly #input = new Float32Array(CONTEXT_SAMPLES + WINDOW_SAMPLES);
  readonly #memory = new Float32Array(MEMORY_SIZE);
  readonly #output = new Float32Array(1);
  readonly #nextMemory = new Float32Array(MEMORY_SIZE);
  readonly #feeds: InferenceSession.FeedsType;
  readonly #fetches: InferenceSession.OnnxValueMapType;

  private constructor(graph: Graph) {
    this.#graph = graph;
    this.#feeds = {
      input: new Tensor("float32", this.#input, [1, this.#input.length]),
      state: new Tensor("float32", this.#memory, [2, 1, MEMORY_SIZE / 2]),
      sr: new Tensor("int64", BigInt64Array.of(SAMPLE_RATE_HZ), []),
    };
    this.#fetches = {
      output: new Tensor("float32", this.#output, [1, 1]),
      stateN: new Tensor("float32", this.#nextMemory, [2, 1, MEMORY_SIZE / 2]),
    };
  }

  /** @throws {ServiceError} `MODEL_BROKEN` naming the file `vad` of the package */
  static async load(model: ModelPackage, options: GraphOptions): Promise<SileroVad> {
    return new SileroVad(await loadGraph(model, CONTRACT, options));
  }

  /**
   * Takes the next samples of a stream.
   *
   * @param state `[stateSize]`, changed in place
   * @param samples mono, -1 to 1, 16 kHz; at least a window, or the frame may say nothing
   * @returns probability of speech; 0 when no window ended in these samples
   */
  async push(state: Float32Array, samples: Float32Array): Promise<number> {
    let probability = 0;
    for (let offset = 0; offset < samples.length; ) {
      const pending = state[PENDING]!;
      const part = samples.subarray(offset, offset + WINDOW_SAMPLES - pending);
      state.set(part, INPUT + CONTEXT_SAMPLES + pending);
      offset += part.length;
      state[PENDING] = pending + part.length;
      if (state[PENDING] === WINDOW_SAMPLES) probability = Math.max(probability, await this.#run(state));
    }
    return probability;
  }

  async #run(state: Float32Array): Promise<number> {
    this.#memory.set(state.subarray(MEMORY, MEMORY + MEMORY_SIZE));
    this.#input.set(state.subarray(INPUT, PENDING));
    await this.#graph.run(this.#feeds, this.#fetches);
    state.set(this.#nextMemory, MEMORY);
    state.copyWithin(INPUT, PENDING - CONTEXT_SAMPLES, PENDING);
    state[PENDING] = 0;
    return this.#output[0]!;
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }
}
