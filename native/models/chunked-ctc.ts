import type { SampleSpan } from "../../core/domain/audio/resample.js";
import type { LogProbs } from "./recognizer.js";
import type { StreamState } from "./stream-caches.js";
import { copyRows, type Tokens } from "./tokens.js";
import { copySpan, type Reading, type UtteranceReader } from "./utterance-reader.js";
import type { CtcHead } from "./voiced-recognizer.js";

/** Batch sizes that are compared with single runs at load, in descending order. */
const TRIED_TOGETHER = [8, 4, 2] as const;

/** A stream's next chunk. */
export interface ChunkInput {
  /** Chunks of the stream before this one. */
  readonly chunk: number;
  /** Samples of `ChunkGraph.spanOf`, -1 to 1. */
  readonly pcm: Float32Array;
  /** Its entries are replaced by the next ones. */
  readonly state: StreamState;
}

/** A graph that reads audio in chunks, and keeps what it has read in caches. */
export interface ChunkGraph {
  readonly rowsPerChunk: number;
  readonly samplesPerRow: number;
  /** Silence read after an utterance, for outputs that are late. */
  readonly tailSamples: number;
  /** Samples of an utterance that a chunk needs; positions below 0 are silence. */
  spanOf(chunk: number): SampleSpan;
  /** Caches at the start of an utterance. */
  initial(): StreamState;
  /**
   * Reads one chunk of each stream.
   * @returns `[streams, rowsPerChunk, columns]` in the graph's order, natural log
   */
  run(chunks: readonly ChunkInput[]): Promise<Float32Array>;
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
 * Reads utterances through a chunked graph: whole, or chunk by chunk while they are spoken. Both run the same
 * chunks, from zeros at the start of the utterance, so they give the same bits, and a reading that was lost
 * with its worker can be repeated.
 */
export class ChunkedCtc implements CtcHead {
  readonly vocabulary: readonly string[];
  readonly outputFrameSamples: number;
  readonly reader: UtteranceReader;
  readonly #graph: ChunkGraph;
  readonly #tokens: Tokens;
  /** Batch sizes whose rows have the same bits as single runs. */
  #together: readonly number[] = [];

  constructor(graph: ChunkGraph, tokens: Tokens) {
    this.vocabulary = tokens.vocabulary;
    this.outputFrameSamples = graph.samplesPerRow;
    this.#graph = graph;
    this.#tokens = tokens;
    const most = () => this.#together[0] ?? 1;
    this.reader = {
      get mostTogether() {
        return most();
      },
      begin: () => new ChunkReading(graph.initial()),
      next: (reading) => graph.spanOf((reading as ChunkReading).chunks),
      read: (readings, pcms) => this.#readAll(readings as readonly ChunkReading[], pcms),
    };
  }

  /** Reads the rest of an utterance, and silence until its last outputs are there. */
  async decode(pcm: Float32Array, begun: Reading | null = null): Promise<LogProbs> {
    const { rowsPerChunk, samplesPerRow, tailSamples } = this.#graph;
    const width = this.vocabulary.length;
    const chunks = Math.ceil((pcm.length + tailSamples) / (rowsPerChunk * samplesPerRow));
    const reading = new ChunkReading([...((begun as ChunkReading | null)?.state ?? this.#graph.initial())]);
    const logProbs = new Float32Array(chunks * rowsPerChunk * width);
    if (begun !== null) {
      const { chunks: done, rows } = begun as ChunkReading;
      // Silence at the end of the audio may have been read beyond the last chunk.
      reading.chunks = Math.min(done, chunks);
      logProbs.set(rows.subarray(0, reading.chunks * rowsPerChunk * width));
    }
    while (reading.chunks < chunks) {
      const { chunks: chunk, state } = reading;
      const part = { chunk, state, pcm: copySpan(pcm, this.#graph.spanOf(chunk)) };
      const at = chunk * rowsPerChunk * width;
      copyRows(await this.#graph.run([part]), this.#tokens, logProbs.subarray(at));
      reading.chunks++;
    }
    return { logProbs, frames: chunks * rowsPerChunk };
  }

  /**
   * Finds out which batches give rows the same bits as alone: kernels are chosen by shape and may round
   * differently, and some quantized graphs scale over a whole batch.
   */
  async tryTogether(): Promise<void> {
    const alone: Float32Array[] = [];
    const probes = Array.from({ length: TRIED_TOGETHER[0] }, (_, row) => this.#probe(row));
    for (const probe of probes) {
      const states = [...this.#graph.initial()];
      const rows = [];
      for (const part of probe) rows.push(...(await this.#graph.run([{ ...part, state: states }])));
      alone.push(Float32Array.from(rows));
    }
    const equal: number[] = [];
    for (const size of TRIED_TOGETHER) {
      if (await this.#isAlike(probes.slice(0, size), alone)) equal.push(size);
    }
    this.#together = equal;
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }

  /** Two chunks of a stream, since the second also reads the caches. */
  #probe(row: number): readonly Omit<ChunkInput, "state">[] {
    return [0, 1].map((chunk) => {
      const { start, end } = this.#graph.spanOf(chunk);
      const pcm = Float32Array.from({ length: end - start }, (_, i) => {
        return 0.2 * Math.sin((start + i) ** 2 * (3 + row) * 1e-6) + 0.1 * Math.sin((start + i) / (3 + row));
      });
      return { chunk, pcm };
    });
  }

  async #isAlike(
    probes: readonly (readonly Omit<ChunkInput, "state">[])[],
    alone: readonly Float32Array[],
  ): Promise<boolean> {
    const states = probes.map(() => [...this.#graph.initial()]);
    const size = this.#graph.rowsPerChunk * this.#tokens.width;
    for (const chunk of [0, 1]) {
      let together: Float32Array;
      try {
        together = await this.#graph.run(
          probes.map((probe, row) => ({ ...probe[chunk]!, state: states[row]! })),
        );
      } catch {
        // The export has a fixed batch size of one.
        return false;
      }
      for (const row of probes.keys()) {
        const expected = alone[row]!.subarray(chunk * size, (chunk + 1) * size);
        const found = together.subarray(row * size, (row + 1) * size);
        if (expected.some((value, i) => !Object.is(value, found[i]))) return false;
      }
    }
    return true;
  }

  async #readAll(readings: readonly ChunkReading[], pcms: readonly Float32Array[]): Promise<void> {
    for (let first = 0; first < readings.length; ) {
      const left = readings.length - first;
      const count = this.#together.find((size) => size <= left) ?? 1;
      await this.#read(readings.slice(first, first + count), pcms.slice(first, first + count));
      first += count;
    }
  }

  async #read(readings: readonly ChunkReading[], pcms: readonly Float32Array[]): Promise<void> {
    const size = this.#graph.rowsPerChunk * this.#tokens.width;
    const found = await this.#graph.run(
      readings.map(({ chunks, state }, row) => ({ chunk: chunks, state, pcm: pcms[row]! })),
    );
    for (const [row, reading] of readings.entries()) {
      const rows = new Float32Array(this.#graph.rowsPerChunk * this.vocabulary.length);
      copyRows(found.subarray(row * size, (row + 1) * size), this.#tokens, rows);
      reading.append(rows, this.vocabulary.length);
    }
  }
}
