/** Rows that lie one behind the other in memory. */
const SLAB_ROWS = 32;

/** Encoder states of sessions: rows of one size in a few contiguous slabs, reused and never given back. */
export class StatePool {
  readonly #rowSize: number;
  readonly #free: Float32Array[] = [];

  constructor(rowSize: number) {
    this.#rowSize = rowSize;
  }

  /** A row of zeros, or one whose content the caller overwrites when `isDirtyFine`. */
  acquire(isDirtyFine = false): Float32Array {
    if (this.#free.length === 0) this.#addSlab();
    const row = this.#free.pop()!;
    return isDirtyFine ? row : row.fill(0);
  }

  release(row: Float32Array): void {
    this.#free.push(row);
  }

  #addSlab(): void {
    const slab = new Float32Array(SLAB_ROWS * this.#rowSize);
    // Last row first, so that rows are handed out in the order of memory.
    for (let row = SLAB_ROWS - 1; row >= 0; row--) {
      this.#free.push(slab.subarray(row * this.#rowSize, (row + 1) * this.#rowSize));
    }
  }
}
