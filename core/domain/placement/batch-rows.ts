import type { RowsOfLength } from "./shared-passes.js";

/** How many rows share a run of each graph. */
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
  /** Frames of a file in one run of the encoder: it gives the same bits whatever they are. */
  readonly hearFrames: number;
}

/** What pays on a core of a CPU, as measured in `native/synthesis`, `native/live` and `native/transcription`. */
export const USUAL_ROWS: BatchRows = {
  solverRows: 1,
  windowRows: 1,
  liveRows: 64,
  finalRows: [],
  fileRows: [],
  hearFrames: 100,
};
