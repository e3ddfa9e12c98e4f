import { type EncoderState, StateRows, type StateSize } from "../models/state-rows.js";

/** Rows that lie one behind the other in memory. */
const SLAB_ROWS = 32;

/** Rows of floats of one size in a few contiguous slabs, reused and never given back. */
export class RowPool {
  readonly #rowSize: number;
  readonly #free: Float32Array[] = [];

  constructor(rowSize: number) {
    this.#rowSize = rowSize;
  }

  /** A row with whatever was in it. */
  acquire(): Float32Array {
    if (this.#free.length === 0) {
      const slab = new Float32Array(SLAB_ROWS * this.#rowSize);
      // Last row first, so that rows are handed out in the order of memory.
      for (let row = SLAB_ROWS - 1; row >= 0; row--) {
        this.#free.push(slab.subarray(row * this.#rowSize, (row + 1) * this.#rowSize));
      }
    }
    return this.#free.pop()!;
  }

  release(row: Float32Array): void {
    this.#free.push(row);
  }
}

/** Encoder states of tracks, kept like the rows of a `RowPool`. */
export class StatePool {
  readonly #size: StateSize;
  readonly #free: EncoderState[] = [];

  constructor(size: StateSize) {
    this.#size = size;
  }

  /** The state at the beginning of a session, or one whose content the caller overwrites when `isDirtyFine`. */
  acquire(isDirtyFine = false): EncoderState {
    if (this.#free.length === 0) this.#free.push(...new StateRows(this.#size, SLAB_ROWS).rows.toReversed());
    const state = this.#free.pop()!;
    if (isDirtyFine) return state;
    state.values.fill(0);
    state.bytes.fill(0);
    return state;
  }

  release(state: EncoderState): void {
    this.#free.push(state);
  }
}
