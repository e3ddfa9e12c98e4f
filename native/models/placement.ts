import { ON_CPU, type Place } from "../../core/domain/placement/provider.js";

/** Where a worker is told to run its graphs, and what it shares with the others that do not run them on the CPU. */
export interface SharedPlacement extends Place {
  /** Of the whole process, see `DeviceCells`. */
  readonly cells: SharedArrayBuffer;
}

export interface Placement extends SharedPlacement {
  /** Its thread's id. */
  readonly thread: number;
}

/** Without devices there is nothing to share. */
export const CPU_PLACEMENT: Placement = { ...ON_CPU, thread: 0, cells: new SharedArrayBuffer(0) };
