import type { RowsOfLength } from "./shared-passes.js";

/** Rows in a run of each graph. */
export interface BatchRows {
  /** Pieces in one step of the solver. */
  readonly solverRows: number;
  /** Windows in one run of the vocoder. */
  readonly windowRows: number;
  /** Sessions in one live step. */
  readonly liveRows: number;
  /** Second passes of live sessions in one run. */
  readonly finalRows: readonly RowsOfLength[];
  /** Pieces of files in one run of the second pass. */
  readonly fileRows: readonly RowsOfLength[];
  /** Frames of a file in one run of the encoder; its output does not depend on this number. */
  readonly hearFrames: number;
}

/**
 * Best values for a CPU core, as measured in `native/synthesis`, `native/live` and `native/transcription`.
 */
export const USUAL_ROWS: BatchRows = {
  solverRows: 1,
  windowRows: 1,
  liveRows: 64,
  finalRows: [],
  fileRows: [],
  hearFrames: 100,
};
