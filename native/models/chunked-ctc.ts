import type { SampleSpan } from "../../core/domain/audio/resample.js";
import type { TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import type { LogProbs } from "./log-probs.js";
import type { StreamState } from "./stream-caches.js";
import { copyRows, type Tokens } from "./tokens.js";
import { copySpan, type Reading, type UtteranceReader } from "./utterance-reader.js";
import type { CtcHead } from "./voiced-recognizer.js";

/** A stream's next chunk. */
export interface ChunkInput {
  /** Number of earlier chunks of the stream. */
  readonly chunk: number;
  /** Samples of `ChunkGraph.spanOf`, -1 to 1. */
  readonly pcm: Float32Array;
  /** Caches of the stream; replaced by the run's new ones. */
  readonly state: StreamState;
}

/** A graph that reads audio in chunks, and keeps earlier audio in caches. */
export interface ChunkGraph {
  readonly rowsPerChunk: number;
  readonly samplesPerRow: number;
  /** Silence read after an utterance, because outputs are late. */
  readonly tailSamples: number;
  /** Samples of an utterance that a chunk needs; positions below 0 are silence. */
  spanOf(chunk: number): SampleSpan;
  /** Caches at the start of an utterance. */
  initial(): StreamState;
  /** Reads a chunk. @returns `[rowsPerChunk, columns]` in the graph's order, natural log */
  run(next: ChunkInput): Promise<Float32Array>;
  /** Called with the rows of a whole utterance, and the state after its `chunks`. */
  finish?(rows: Float32Array, state: StreamState, chunks: number): void;
  /** See `CtcHead`. */
  searchOver?(fallback: TokenSearch): TokenSearch;
  release(): Promise<void>;
}

class ChunkReading implements Reading {
  readonly state: StreamState;
  chunks = 0;
  rowCount = 0;
  rows = new Float32Array(0);

  constructor(state: StreamState) {
    this.state = state;
  }

  append(rows: Float32Array, width: number): void {
    const used = this.rowCount * width;
    if (this.rows.length < used + rows.length) {
      const grown = new Float32Array(2 * (used + rows.length));
      grown.set(this.rows.subarray(0, used));
      this.rows = grown;
    }
    this.rows.set(rows, used);
    this.rowCount += rows.length / width;
    this.chunks++;
  }
}

/**
 * Reads utterances through a chunked graph: whole, or chunk by chunk while they are spoken. Both ways run the
 * same chunks, from zeros at the start of the utterance, so results are bit-identical, and a reading that was
 * lost with its worker can be repeated.
 */
export class ChunkedCtc implements CtcHead {
  readonly vocabulary: readonly string[];
  readonly outputFrameSamples: number;
  readonly reader: UtteranceReader;
  readonly searchOver?: (fallback: TokenSearch) => TokenSearch;
  readonly #graph: ChunkGraph;
  readonly #tokens: Tokens;

  constructor(graph: ChunkGraph, tokens: Tokens) {
    this.vocabulary = tokens.vocabulary;
    this.outputFrameSamples = graph.samplesPerRow;
    this.#graph = graph;
    this.#tokens = tokens;
    if (graph.searchOver !== undefined) this.searchOver = graph.searchOver.bind(graph);
    this.reader = {
      endsAnywhere: false,
      begin: () => new ChunkReading(graph.initial()),
      next: (reading) => graph.spanOf((reading as ChunkReading).chunks),
      read: (reading, pcm) => this.#read(reading as ChunkReading, pcm),
    };
  }

  /** Reads the rest of an utterance, and silence until its last outputs have appeared. */
  async decode(pcm: Float32Array, begun: Reading | null = null): Promise<LogProbs> {
    const { rowsPerChunk, samplesPerRow, tailSamples } = this.#graph;
    const width = this.vocabulary.length;
    const chunks = Math.ceil((pcm.length + tailSamples) / (rowsPerChunk * samplesPerRow));
    const reading = new ChunkReading([...((begun as ChunkReading | null)?.state ?? this.#graph.initial())]);
    const logProbs = new Float32Array(chunks * rowsPerChunk * width);
    if (begun !== null) {
      const { chunks: done, rows } = begun as ChunkReading;
      // Silence at the end of the audio may have been read past the last chunk.
      reading.chunks = Math.min(done, chunks);
      logProbs.set(rows.subarray(0, reading.chunks * rowsPerChunk * width));
    }
    while (reading.chunks < chunks) {
      const { chunks: chunk, state } = reading;
      const part = { chunk, state, pcm: copySpan(pcm, this.#graph.spanOf(chunk)) };
      const at = chunk * rowsPerChunk * width;
      copyRows(await this.#graph.run(part), this.#tokens, logProbs.subarray(at));
      reading.chunks++;
    }
    this.#graph.finish?.(logProbs, reading.state, chunks);
    return { logProbs, frames: chunks * rowsPerChunk };
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }

  async #read(reading: ChunkReading, pcm: Float32Array): Promise<LogProbs> {
    const { chunks: chunk, state } = reading;
    const found = await this.#graph.run({ chunk, state, pcm });
    const rows = new Float32Array(this.#graph.rowsPerChunk * this.vocabulary.length);
    copyRows(found, this.#tokens, rows);
    reading.append(rows, this.vocabulary.length);
    return { logProbs: rows, frames: this.#graph.rowsPerChunk };
  }
}
