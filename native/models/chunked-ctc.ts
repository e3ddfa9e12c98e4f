import type { SampleSpan } from "../../core/domain/audio/resample.js";
import type { TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import type { LogProbs } from "./log-probs.js";
import type { StreamState } from "./stream-caches.js";
import { copyRows, type Tokens } from "./tokens.js";
import {
  type BegunUtterance,
  type ChunkSource,
  copySpan,
  type Reading,
  type UtteranceReader,
} from "./utterance-reader.js";
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
  /** Absent if the graph takes one chunk, or if chunks could change each other's rows. */
  readonly shared?: SharedRuns | undefined;
  /** Called with the rows of a whole utterance, and the state after its `chunks`. */
  finish?(rows: Float32Array, state: StreamState, chunks: number): void;
  /** See `CtcHead`. */
  searchOver?(fallback: TokenSearch): TokenSearch;
  release(): Promise<void>;
}

/** Runs that read a chunk of each of several streams. Their rows may be rounded differently from `run`'s. */
export interface SharedRuns {
  /** Chunks for which a run takes hardly longer than for one. */
  readonly leastChunks: number;
  readonly mostChunks: number;
  /** @returns as `run`, for each chunk; its bits do not depend on the others, not even if there are none */
  run(chunks: readonly ChunkInput[]): Promise<readonly Float32Array[]>;
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

/** An utterance that is read to its end. */
class EndedReading {
  readonly state: StreamState;
  readonly decoded: LogProbs;
  chunks = 0;
  readonly #pcm: Float32Array;
  readonly #head: Pick<ChunkGraph, "spanOf" | "rowsPerChunk">;
  readonly #chunkSize: number;

  constructor(
    pcm: Float32Array,
    begun: ChunkReading | null,
    { graph, width }: { readonly graph: ChunkGraph; readonly width: number },
  ) {
    const { rowsPerChunk, samplesPerRow, tailSamples } = graph;
    const chunks = Math.ceil((pcm.length + tailSamples) / (rowsPerChunk * samplesPerRow));
    this.state = [...(begun?.state ?? graph.initial())];
    this.#pcm = pcm;
    this.#head = graph;
    this.#chunkSize = rowsPerChunk * width;
    this.decoded = { logProbs: new Float32Array(chunks * this.#chunkSize), frames: chunks * rowsPerChunk };
    if (begun === null) return;
    // Silence at the end of the audio may have been read past the last chunk.
    this.chunks = Math.min(begun.chunks, chunks);
    this.decoded.logProbs.set(begun.rows.subarray(0, this.chunks * this.#chunkSize));
  }

  get hasNext(): boolean {
    return this.chunks * this.#head.rowsPerChunk < this.decoded.frames;
  }

  next(): ChunkInput {
    const { chunks: chunk, state } = this;
    return { chunk, state, pcm: copySpan(this.#pcm, this.#head.spanOf(chunk)) };
  }

  take(rows: Float32Array, tokens: Tokens): void {
    copyRows(rows, tokens, this.decoded.logProbs.subarray(this.chunks * this.#chunkSize));
    this.chunks++;
  }
}

/**
 * Reads utterances through a chunked graph: whole, or chunk by chunk while they are spoken. Both ways run the
 * same chunks, from zeros at the start of the utterance, so a reading that was lost with its worker can be
 * repeated bit for bit. Results of both are bit-identical, unless chunks of spoken utterances share runs.
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
      chunksPerRun: graph.shared?.mostChunks ?? 1,
      begin: () => new ChunkReading(graph.initial()),
      next: (reading) => graph.spanOf((reading as ChunkReading).chunks),
      read: async (reading, pcm) => (await this.#read([reading], [pcm]))[0]!,
      readTogether: (readings, pcms) => this.#read(readings, pcms),
    };
  }

  /** Reads the rest of an utterance, and silence until its last outputs have appeared. */
  async decode(pcm: Float32Array, begun: Reading | null = null): Promise<LogProbs> {
    if (begun !== null) return (await this.decodeBegun([{ pcm, begun }]))[0]!;
    const reading = new EndedReading(pcm, null, { graph: this.#graph, width: this.vocabulary.length });
    while (reading.hasNext) reading.take(await this.#graph.run(reading.next()), this.#tokens);
    return this.#end(reading);
  }

  async decodeBegun(
    utterances: readonly BegunUtterance[],
    beside: ChunkSource | null = null,
  ): Promise<readonly LogProbs[]> {
    const { mostChunks, leastChunks } = this.#graph.shared ?? { mostChunks: 1, leastChunks: 1 };
    const parts = { graph: this.#graph, width: this.vocabulary.length };
    const readings = utterances.map(({ pcm, begun }) => new EndedReading(pcm, begun as ChunkReading, parts));
    for (;;) {
      const ending = readings.filter(({ hasNext }) => hasNext).slice(0, mostChunks);
      if (ending.length === 0) return readings.map((reading) => this.#end(reading));
      const others = beside?.take(leastChunks - ending.length) ?? [];
      const spoken = others.map(({ reading, pcm }) => nextOf(reading, pcm));
      const rows = await this.#run([...ending.map((reading) => reading.next()), ...spoken]);
      for (const [at, reading] of ending.entries()) reading.take(rows[at]!, this.#tokens);
      for (const [at, { reading, onRead }] of others.entries()) {
        onRead(this.#append(reading, rows[ending.length + at]!));
      }
    }
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }

  #end({ decoded, state, chunks }: EndedReading): LogProbs {
    this.#graph.finish?.(decoded.logProbs, state, chunks);
    return decoded;
  }

  async #read(readings: readonly Reading[], pcms: readonly Float32Array[]): Promise<LogProbs[]> {
    const rows = await this.#run(readings.map((reading, at) => nextOf(reading, pcms[at]!)));
    return readings.map((reading, at) => this.#append(reading, rows[at]!));
  }

  async #run(chunks: readonly ChunkInput[]): Promise<readonly Float32Array[]> {
    if (this.#graph.shared !== undefined) return this.#graph.shared.run(chunks);
    const rows: Float32Array[] = [];
    for (const chunk of chunks) rows.push(await this.#graph.run(chunk));
    return rows;
  }

  #append(reading: Reading, found: Float32Array): LogProbs {
    const { rowsPerChunk } = this.#graph;
    const logProbs = new Float32Array(rowsPerChunk * this.vocabulary.length);
    copyRows(found, this.#tokens, logProbs);
    (reading as ChunkReading).append(logProbs, this.vocabulary.length);
    return { logProbs, frames: rowsPerChunk };
  }
}

function nextOf(reading: Reading, pcm: Float32Array): ChunkInput {
  const { chunks: chunk, state } = reading as ChunkReading;
  return { chunk, state, pcm };
}
