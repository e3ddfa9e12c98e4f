import { ON_CPU, type Place } from "../../core/domain/placement/provider.js";

/** Where a worker runs its graphs, with the state that all workers off the CPU share. */
export interface SharedPlacement extends Place {
  readonly cells: SharedArrayBuffer;
}

export interface Placement extends SharedPlacement {
  readonly thread: number;
}

export const CPU_PLACEMENT: Placement = { ...ON_CPU, thread: 0, cells: new SharedArrayBuffer(0) };
