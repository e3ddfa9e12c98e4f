/** How many rows share a run of each graph. */
export interface BatchRows {
  /** Pieces in one step of the solver. */
  readonly solverRows: number;
  /** Windows in one run of the vocoder. */
  readonly windowRows: number;
  /** Sessions in one live step. */
  readonly liveRows: number;
}

/** What pays on a core of a CPU, as measured in `native/synthesis` and `native/live`. */
export const USUAL_ROWS: BatchRows = { solverRows: 1, windowRows: 1, liveRows: 64 };
