import type { SealedFolder } from "./package.js";

/** Upper bounds of the histogram's buckets: from a step of one row to a whole file's second pass. */
export const RUN_MS_BUCKETS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000] as const;

/** Counts of each bucket, one of all longer runs, the sum in microseconds, and the rows of all runs. */
const CELLS_PER_GRAPH = RUN_MS_BUCKETS.length + 3;
const SUM = CELLS_PER_GRAPH - 2;
const ROWS = CELLS_PER_GRAPH - 1;

export interface GraphRunTimes {
  /** A name among the package's files. */
  readonly graph: string;
  /** Of each bucket on its own, the last without a bound. */
  readonly counts: readonly number[];
  readonly sumMs: number;
  /** Of all runs together, those that fill a batch up among them. */
  readonly rows: number;
}

/** Told of each run: how long it took, and how many rows it had. */
export type OnRun = (ms: number, rows: number) => void;

/**
 * How long the runs of a package's graphs take and how many rows they have, counted by all of its workers in shared memory: a worker says nothing of a
 * run, and who wants to know reads.
 */
export class RunTimes {
  readonly cells: SharedArrayBuffer;
  readonly #graphs: readonly string[];

  constructor(model: SealedFolder) {
    this.#graphs = graphsOf(model);
    this.cells = new SharedArrayBuffer(
      this.#graphs.length * CELLS_PER_GRAPH * BigInt64Array.BYTES_PER_ELEMENT,
    );
  }

  /** What a worker calls after each run of a graph; null without cells, and for a file that is none of its graphs by name. */
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

  /** Of every graph, from the beginning on. */
  read(): readonly GraphRunTimes[] {
    const all = new BigInt64Array(this.cells);
    return this.#graphs.map((graph, index) => {
      const cell = (at: number) => Number(Atomics.load(all, index * CELLS_PER_GRAPH + at));
      const counts = Array.from({ length: SUM }, (_, at) => cell(at));
      return { graph, counts, sumMs: cell(SUM) / 1_000, rows: cell(ROWS) };
    });
  }
}

/** Names of the graphs among a package's files, in the manifest's order. */
export function graphsOf({ manifest }: SealedFolder): readonly string[] {
  return Object.entries(manifest.files).flatMap(([name, { path }]) => (path.endsWith(".onnx") ? [name] : []));
}
