import { FRAME_SAMPLES } from "../../core/domain/audio/frame.js";
import type { LogMel } from "../../core/domain/audio/log-mel.js";
import type { LogProbs } from "./recognizer.js";
import { copyRows, type Tokens } from "./tokens.js";
import { type CtcHead, writeBlank } from "./voiced-recognizer.js";

/** Feature frames per step, which is one frame of audio. */
const STEP_FRAMES = 4;
/** The first step omits the feature frame before the audio. */
const FIRST_STEP_FRAMES = STEP_FRAMES - 1;
/** Samples kept before a step; more than the longest window needs. */
const HISTORY_SAMPLES = 400;

/** A graph that reads features in chunks; its caches are part of a stream's state. */
export interface ChunkGraph {
  readonly windowFrames: number;
  readonly shiftFrames: number;
  /** Frames of zeros before the first frame. */
  readonly leadFrames: number;
  readonly rowsPerChunk: number;
  readonly subsampling: number;
  /** Floats in all caches; a stream starts with zeros. */
  readonly cacheSize: number;
  /**
   * @param features `[windowFrames, bins]`
   * @param caches `[cacheSize]`, changed in place
   * @param rows receives `[rowsPerChunk, columns]` in the graph's order
   */
  run(features: Float32Array, caches: Float32Array, rows: Float32Array): Promise<void>;
  release(): Promise<void>;
}

/**
 * Streams audio through a chunked graph: computes features as soon as their windows are complete, collects
 * them until a chunk is full, and returns its rows one per step. Rows lag by up to two chunks: one filling,
 * one being returned.
 *
 * Step k completes the windows of feature frames 4k - 1 to 4k + 2 (25 ms, centred on a 10 ms grid). Frame -1,
 * before the audio, is left out.
 */
export class ChunkedCtc implements CtcHead {
  readonly vocabulary: readonly string[];
  readonly outputFrameSamples: number;
  readonly stateSize: number;
  readonly lagFrames: number;
  readonly #logMel: LogMel;
  readonly #graph: ChunkGraph;
  readonly #tokens: Tokens;
  readonly #at: StateLayout;
  readonly #stepsPerRow: number;
  readonly #samples = new Float32Array(HISTORY_SAMPLES + FRAME_SAMPLES);
  readonly #window: Float32Array;
  readonly #rows: Float32Array;
  readonly #ordered: Float32Array;

  constructor(logMel: LogMel, graph: ChunkGraph, tokens: Tokens) {
    this.vocabulary = tokens.vocabulary;
    this.outputFrameSamples = graph.subsampling * logMel.options.hopSamples;
    this.#logMel = logMel;
    this.#graph = graph;
    this.#tokens = tokens;
    this.#stepsPerRow = graph.subsampling / STEP_FRAMES;
    const width = this.vocabulary.length;
    this.#window = new Float32Array(graph.windowFrames * logMel.bins);
    this.#rows = new Float32Array(graph.rowsPerChunk * tokens.width);
    this.#ordered = new Float32Array(graph.rowsPerChunk * width);
    this.#at = layoutOf(graph, logMel.bins, width);
    this.stateSize = this.#at.size;
    // The step that fills the first chunk. A chunk lasts as many steps as it has rows, so later ones are
    // never late.
    this.lagFrames = Math.ceil((graph.windowFrames - graph.leadFrames - FIRST_STEP_FRAMES) / STEP_FRAMES);
  }

  async step(state: Float32Array, pcm: Float32Array, row: Float32Array): Promise<void> {
    const width = this.vocabulary.length;
    const { queueCount, queue, turns } = this.#at;
    await this.#advance(state, pcm, () => {
      state.set(this.#ordered, queue + state[queueCount]! * width);
      state[queueCount] = state[queueCount]! + this.#graph.rowsPerChunk;
    });
    if (state[queueCount] === 0) {
      writeBlank(row);
      return;
    }
    row.set(state.subarray(queue, queue + width));
    // A row is repeated for each of its steps; greedy decoding collapses repeats.
    state[turns] = state[turns]! + 1;
    if (state[turns] < this.#stepsPerRow) return;
    state[turns] = 0;
    state.copyWithin(queue, queue + width, queue + state[queueCount]! * width);
    state[queueCount] = state[queueCount]! - 1;
  }

  /** Runs the same chunks as a stream does, then silence until the last frame of the audio is in a chunk. */
  async decode(pcm: Float32Array): Promise<LogProbs> {
    const { shiftFrames, rowsPerChunk } = this.#graph;
    const width = this.vocabulary.length;
    const audioFrames = Math.ceil(pcm.length / this.#logMel.options.hopSamples);
    const chunks = Math.ceil(audioFrames / shiftFrames);
    const logProbs = new Float32Array(chunks * rowsPerChunk * width);
    const state = new Float32Array(this.stateSize);
    const samples = new Float32Array(FRAME_SAMPLES);
    let done = 0;
    for (let start = 0; done < chunks; start += FRAME_SAMPLES) {
      samples.fill(0).set(pcm.subarray(start, start + FRAME_SAMPLES));
      await this.#advance(state, samples, () => {
        if (done < chunks) logProbs.set(this.#ordered, done * rowsPerChunk * width);
        done++;
      });
    }
    const rows = Math.min(chunks * rowsPerChunk, Math.ceil(audioFrames / this.#graph.subsampling));
    return { logProbs: logProbs.subarray(0, rows * width), frames: rows };
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }

  /** Takes a step's audio; calls `onChunk` whenever `#ordered` holds the rows of a chunk. */
  async #advance(state: Float32Array, pcm: Float32Array, onChunk: () => void): Promise<void> {
    const { bins } = this.#logMel;
    const { windowFrames, shiftFrames } = this.#graph;
    const { featureCount, features, caches, queueCount } = this.#at;
    this.#takeFeatures(state, pcm);
    while (state[featureCount]! >= windowFrames) {
      this.#window.set(state.subarray(features, features + windowFrames * bins));
      await this.#graph.run(this.#window, state.subarray(caches), this.#rows);
      copyRows(this.#rows, this.#tokens, this.#ordered);
      onChunk();
      state.copyWithin(features, features + shiftFrames * bins, queueCount);
      state[featureCount] = state[featureCount]! - shiftFrames;
    }
  }

  #takeFeatures(state: Float32Array, pcm: Float32Array): void {
    const { hopSamples, firstSample, edge } = this.#logMel.options;
    const { bins } = this.#logMel;
    const { isRunning, history, featureCount, features } = this.#at;
    const samples = this.#samples;
    samples.set(state.subarray(history, history + HISTORY_SAMPLES));
    samples.set(pcm, HISTORY_SAMPLES);
    const isFirst = state[isRunning] === 0;
    if (isFirst) {
      state[isRunning] = 1;
      state[featureCount] = this.#graph.leadFrames;
      for (let i = 0; edge === "mirror" && i < -firstSample; i++) samples[HISTORY_SAMPLES - 1 - i] = pcm[i]!;
    }
    for (let frame = isFirst ? 0 : -1; frame < STEP_FRAMES - 1; frame++) {
      const start = HISTORY_SAMPLES + firstSample + frame * hopSamples;
      const offset = features + state[featureCount]! * bins;
      this.#logMel.computeFrame(samples, start, state, offset);
      state[featureCount] = state[featureCount]! + 1;
    }
    state.set(samples.subarray(FRAME_SAMPLES), history);
  }
}

interface StateLayout {
  readonly isRunning: number;
  readonly featureCount: number;
  readonly turns: number;
  readonly history: number;
  readonly features: number;
  readonly queueCount: number;
  readonly queue: number;
  readonly caches: number;
  readonly size: number;
}

function layoutOf(graph: ChunkGraph, bins: number, width: number): StateLayout {
  const history = 3;
  const features = history + HISTORY_SAMPLES;
  const queueCount = features + (graph.windowFrames + STEP_FRAMES) * bins;
  const queue = queueCount + 1;
  // Three chunks: the next one arrives before the last is used up.
  const caches = queue + 3 * graph.rowsPerChunk * width;
  const size = caches + graph.cacheSize;
  return { isRunning: 0, featureCount: 1, turns: 2, history, features, queueCount, queue, caches, size };
}
