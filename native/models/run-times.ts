import type { SealedFolder } from "./package.js";

/** Upper bounds of histogram buckets: from a step of one row to the second pass over a whole file. */
export const RUN_MS_BUCKETS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000] as const;

/**
 * Cells of a graph: a count per bucket, one for longer runs, the sum in microseconds, and the rows of all
 * runs.
 */
const CELLS_PER_GRAPH = RUN_MS_BUCKETS.length + 3;
const SUM = CELLS_PER_GRAPH - 2;
const ROWS = CELLS_PER_GRAPH - 1;

export interface GraphRunTimes {
  readonly graph: string;
  /** Runs in each bucket, not cumulative; the last bucket has no upper bound. */
  readonly counts: readonly number[];
  readonly sumMs: number;
  /** Total rows of all runs, including padding. */
  readonly rows: number;
}

/** Receives the duration and the number of rows of each run. */
export type OnRun = (ms: number, rows: number) => void;

/** Durations and rows of graph runs, counted by all workers of a package in shared memory. */
export class RunTimes {
  readonly cells: SharedArrayBuffer;
  readonly #graphs: readonly string[];

  constructor(model: SealedFolder) {
    this.#graphs = graphsOf(model);
    this.cells = new SharedArrayBuffer(
      this.#graphs.length * CELLS_PER_GRAPH * BigInt64Array.BYTES_PER_ELEMENT,
    );
  }

  /** Makes the callback for a graph's runs; null without cells, or if the package has no such graph. */
  static writer(cells: SharedArrayBuffer | undefined, model: SealedFolder, graph: string): OnRun | null {
    if (cells === undefined) return null;
    const index = graphsOf(model).indexOf(graph);
    if (index < 0) return null;
    const own = new BigInt64Array(cells).subarray(index * CELLS_PER_GRAPH, (index + 1) * CELLS_PER_GRAPH);
    return (ms, rows) => {
      let bucket = 0;
      while (bucket < RUN_MS_BUCKETS.length && ms > RUN_MS_BUCKETS[bucket]!) bucket++;
      Atomics.add(own, bucket, 1n);
      Atomics.add(own, SUM, BigInt(Math.round(ms * 1_000)));
      Atomics.add(own, ROWS, BigInt(rows));
    };
  }

  read(): readonly GraphRunTimes[] {
    const all = new BigInt64Array(this.cells);
    return this.#graphs.map((graph, index) => {
      const cell = (at: number) => Number(Atomics.load(all, index * CELLS_PER_GRAPH + at));
      const counts = Array.from({ length: SUM }, (_, at) => cell(at));
      return { graph, counts, sumMs: cell(SUM) / 1_000, rows: cell(ROWS) };
    });
  }
}

/** Lists the graphs of a package by name, in the manifest's order. */
export function graphsOf({ manifest }: SealedFolder): readonly string[] {
  return Object.entries(manifest.files).flatMap(([name, { path }]) => (path.endsWith(".onnx") ? [name] : []));
}
