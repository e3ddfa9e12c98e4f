import { type InferenceSession, Tensor } from "onnxruntime-node";
import { FRAME_SAMPLES } from "../../core/domain/audio/frame.js";
import { type GraphOptions, loadGraph, requireContract } from "./graph.js";
import type { Graph, GraphContract } from "./graph-interface.js";
import { fileNameOf, type SealedFolder } from "./package.js";
import type { VoiceActivity, VoiceFrames } from "./voice-activity.js";

const TENSORS = {
  inputs: ["input", "state", "sr"],
  outputs: ["output", "stateN"],
} as const satisfies Omit<GraphContract, "file">;

const WINDOW_SAMPLES = 512;
const CONTEXT_SAMPLES = 64;
const INPUT_SAMPLES = CONTEXT_SAMPLES + WINDOW_SAMPLES;
const MEMORY_LAYERS = 2;
const MEMORY_WIDTH = 128;
const MEMORY_SIZE = MEMORY_LAYERS * MEMORY_WIDTH;
const SAMPLE_RATE_HZ = 16_000n;
/** Layout of a stream's state: the graph's memory, the unfinished window with its context, its samples. */
const MEMORY = 0;
const INPUT = MEMORY + MEMORY_SIZE;
const PENDING = INPUT + INPUT_SAMPLES;

/** Batch sizes compared with single rows at load: kernels are chosen by shape and may round differently. */
const TRIED_ROWS = [2, 3, 8, 33] as const;

/**
 * Silero VAD, versions 5 and 6, at 16 kHz: windows of 512 samples after 64 samples of context, and a
 * recurrent state. A frame's probability is the highest of the one or two windows that end in it. Streams
 * share runs.
 *
 * @see snakers4/silero-vad at 0a7d1f6, `src/silero_vad/utils_vad.py`, `OnnxWrapper`: input f32 [B, 576],
 *   state f32 [2, B, 128], sr int64; output f32 [B, 1], stateN. Version 4 (h and c) has other tensors and is
 *   rejected.
 */
export class SileroVad implements VoiceActivity {
  readonly stateSize = PENDING + 1;
  readonly stateBytes = 0;
  /** Its memory is infinite, but after this many frames the start hardly matters. */
  readonly contextFrames = 40;
  /** Whether windows of several streams share a run. */
  readonly sharesRuns: boolean;
  readonly #runs: WindowRuns;

  private constructor(runs: WindowRuns, sharesRuns: boolean) {
    this.#runs = runs;
    this.sharesRuns = sharesRuns;
  }

  /**
   * Wraps a loaded graph. Windows share runs only if batches are bit-identical to single rows on this
   * machine, so that a stream's result never depends on other streams.
   *
   * @param name name for errors
   * @throws {ServiceError} `MODEL_BROKEN` with the missing tensors
   */
  static async over(graph: Graph, name: string): Promise<SileroVad> {
    requireContract(graph, name, { file: name, ...TENSORS });
    const runs = new WindowRuns(graph);
    return new SileroVad(runs, await givesSameBits(runs));
  }

  /** Loads the file `vad` of a package. @throws {ServiceError} `MODEL_BROKEN` with the file */
  static async load(model: SealedFolder, options: GraphOptions): Promise<SileroVad> {
    const contract = { file: "vad", ...TENSORS };
    return SileroVad.over(await loadGraph(model, contract, options), fileNameOf(model, "vad"));
  }

  async hear({ frames, pcm, speech, states }: VoiceFrames): Promise<void> {
    const samples = frames * FRAME_SAMPLES;
    speech.fill(0);
    const taken = states.map(() => 0);
    for (;;) {
      const ready: number[] = [];
      for (const [row, { values }] of states.entries()) {
        const rest = pcm.subarray(row * samples + taken[row]!, (row + 1) * samples);
        taken[row]! += fill(values, rest);
        if (values[PENDING] === WINDOW_SAMPLES) ready.push(row);
      }
      if (ready.length === 0) return;
      const probabilities = await this.#run(ready.map((row) => states[row]!.values));
      for (const [index, row] of ready.entries()) {
        const at = row * frames + Math.ceil(taken[row]! / FRAME_SAMPLES) - 1;
        speech[at] = Math.max(speech[at]!, probabilities[index]!);
      }
    }
  }

  /**
   * Takes the next samples of one stream, of any length.
   *
   * @param state `[stateSize]`, changed in place
   * @returns the highest probability of speech of the windows that end in these samples; 0 without one
   */
  async push(state: Float32Array, samples: Float32Array): Promise<number> {
    let probability = 0;
    for (let taken = 0; taken < samples.length; ) {
      taken += fill(state, samples.subarray(taken));
      if (state[PENDING] !== WINDOW_SAMPLES) continue;
      const [found] = await this.#runs.run([state]);
      probability = Math.max(probability, found!);
    }
    return probability;
  }

  async release(): Promise<void> {
    await this.#runs.release();
  }

  async #run(states: readonly Float32Array[]): Promise<readonly number[]> {
    if (this.sharesRuns) return this.#runs.run(states);
    const probabilities: number[] = [];
    for (const state of states) probabilities.push(...(await this.#runs.run([state])));
    return probabilities;
  }
}

/** Moves samples into a stream's unfinished window and returns their number. */
function fill(state: Float32Array, samples: Float32Array): number {
  const pending = state[PENDING]!;
  const part = samples.subarray(0, WINDOW_SAMPLES - pending);
  state.set(part, INPUT + CONTEXT_SAMPLES + pending);
  state[PENDING] = pending + part.length;
  return part.length;
}

interface Shape {
  readonly feeds: InferenceSession.FeedsType;
  readonly fetches: InferenceSession.OnnxValueMapType;
}

/** Runs full windows of several streams. The graph's memory is stored layer by layer. */
class WindowRuns {
  readonly #graph: Graph;
  readonly #rate = new Tensor("int64", BigInt64Array.of(SAMPLE_RATE_HZ), []);
  #capacity = 0;
  #input = new Float32Array(0);
  #memory = new Float32Array(0);
  #output = new Float32Array(0);
  #nextMemory = new Float32Array(0);
  #shapes: (Shape | undefined)[] = [];

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /** Runs streams with a full window and updates their states. @returns a probability for each */
  async run(states: readonly Float32Array[]): Promise<readonly number[]> {
    const rows = states.length;
    const { feeds, fetches } = this.#shapeOf(rows);
    for (const [row, state] of states.entries()) {
      this.#input.set(state.subarray(INPUT, PENDING), row * INPUT_SAMPLES);
      for (let layer = 0; layer < MEMORY_LAYERS; layer++) {
        const start = MEMORY + layer * MEMORY_WIDTH;
        this.#memory.set(state.subarray(start, start + MEMORY_WIDTH), (layer * rows + row) * MEMORY_WIDTH);
      }
    }
    await this.#graph.run(feeds, fetches);
    for (const [row, state] of states.entries()) {
      for (let layer = 0; layer < MEMORY_LAYERS; layer++) {
        const start = (layer * rows + row) * MEMORY_WIDTH;
        state.set(this.#nextMemory.subarray(start, start + MEMORY_WIDTH), MEMORY + layer * MEMORY_WIDTH);
      }
      state.copyWithin(INPUT, PENDING - CONTEXT_SAMPLES, PENDING);
      state[PENDING] = 0;
    }
    return [...this.#output.subarray(0, rows)];
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }

  #shapeOf(rows: number): Shape {
    if (rows > this.#capacity) this.#grow(rows);
    let shape = this.#shapes[rows];
    if (shape === undefined) {
      const input = this.#input.subarray(0, rows * INPUT_SAMPLES);
      shape = {
        feeds: {
          input: new Tensor("float32", input, [rows, INPUT_SAMPLES]),
          state: this.#memoryTensor(this.#memory, rows),
          sr: this.#rate,
        },
        fetches: {
          output: new Tensor("float32", this.#output.subarray(0, rows), [rows, 1]),
          stateN: this.#memoryTensor(this.#nextMemory, rows),
        },
      };
      this.#shapes[rows] = shape;
    }
    return shape;
  }

  #memoryTensor(memory: Float32Array, rows: number): Tensor {
    const dimensions = [MEMORY_LAYERS, rows, MEMORY_WIDTH];
    return new Tensor("float32", memory.subarray(0, rows * MEMORY_SIZE), dimensions);
  }

  #grow(rows: number): void {
    this.#capacity = rows;
    this.#input = new Float32Array(rows * INPUT_SAMPLES);
    this.#memory = new Float32Array(rows * MEMORY_SIZE);
    this.#output = new Float32Array(rows);
    this.#nextMemory = new Float32Array(rows * MEMORY_SIZE);
    this.#shapes = [];
  }
}

/** Runs windows of different streams together and alone, and compares the results bit by bit. */
async function givesSameBits(runs: WindowRuns): Promise<boolean> {
  const alone = Array.from({ length: Math.max(...TRIED_ROWS) }, (_, row) => triedStream(row));
  const full = alone.map((state) => state.slice());
  const expected: number[] = [];
  for (const state of alone) expected.push(...(await runs.run([state])));
  for (const rows of TRIED_ROWS) {
    const together = full.slice(0, rows).map((state) => state.slice());
    // The export may have a fixed batch size of one.
    const found = await runs.run(together).catch(() => null);
    if (found === null || found.some((value, row) => value !== expected[row])) return false;
    if (together.some((state, row) => state.some((value, at) => value !== alone[row]![at]))) return false;
  }
  return true;
}

/** Creates a stream with some memory and a full window. */
function triedStream(row: number): Float32Array {
  const state = Float32Array.from({ length: PENDING + 1 }, (_, at) => {
    return 0.2 * Math.sin(at * 0.04 * (1 + row / 10)) * Math.sin(at * 1.7 + row);
  });
  state[PENDING] = WINDOW_SAMPLES;
  return state;
}
