import { copyState, type EncoderState, StateRows, type StateSize } from "../models/state-rows.js";

/** States of a pool are allocated this many at a time, contiguously. */
const POOL_ROWS = 32;
/** A slab of 64 rows is a megabyte. */
const MAX_SLABS = 8;

/** Encoder states, reused and never freed. */
export class StatePool {
  readonly #size: StateSize;
  readonly #free: EncoderState[] = [];

  constructor(size: StateSize) {
    this.#size = size;
  }

  /** Returns the initial state of a session, or, if `isDirtyFine`, one that the caller overwrites. */
  acquire(isDirtyFine = false): EncoderState {
    if (this.#free.length === 0) this.#free.push(...new StateRows(this.#size, POOL_ROWS).rows.toReversed());
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

/** Location of a track's state: the slab of its last batch, or its own memory. */
export class StatePlace {
  readonly own: EncoderState;
  #state: EncoderState;
  #slab: StateSlab | null = null;
  #row = 0;

  /** @param own holds the track's initial state */
  constructor(own: EncoderState) {
    this.own = own;
    this.#state = own;
  }

  get state(): EncoderState {
    return this.#state;
  }

  get slab(): StateSlab | null {
    return this.#slab;
  }

  isIn(slab: StateSlab | null, row: number): boolean {
    return this.#slab === slab && this.#row === row;
  }

  /** A batch has written a newer state to this row. */
  moveTo(slab: StateSlab, row: number): void {
    this.#slab?.forget(this.#row);
    slab.hold(row, this);
    this.#slab = slab;
    this.#row = row;
    this.#state = slab.states.rows[row]!;
  }

  /** Copies the state to the track's own memory, so that the slab can be reused. */
  moveToOwn(): void {
    copyState(this.#state, this.own);
    this.leave();
    this.#state = this.own;
  }

  /** Gives up the row; the state is lost. */
  leave(): void {
    this.#slab?.forget(this.#row);
    this.#slab = null;
  }
}

/** Output states of one batch that tracks still use. Only `StatePlace` calls `hold` and `forget`. */
export class StateSlab {
  readonly states: StateRows;
  readonly #places: (StatePlace | null)[];
  #count = 0;

  constructor(size: StateSize, rows: number) {
    this.states = new StateRows(size, rows);
    this.#places = new Array<StatePlace | null>(rows).fill(null);
  }

  get count(): number {
    return this.#count;
  }

  hold(row: number, place: StatePlace): void {
    this.#places[row] = place;
    this.#count++;
  }

  forget(row: number): void {
    this.#places[row] = null;
    this.#count--;
  }

  /** Moves the states in use to their tracks' own memory. */
  clear(): void {
    for (let row = 0; row < this.#places.length && this.#count > 0; row++) this.#places[row]?.moveToOwn();
  }
}

/**
 * Slabs for the output states of batches. A state is not copied back to its track: it stays in the batch's
 * output until a later batch writes a newer one elsewhere. A batch of the same tracks in the same rows reads
 * it from there.
 */
export class StateSlabs {
  readonly #size: StateSize;
  readonly #rows: number;
  readonly #slabs: StateSlab[] = [];

  constructor(size: StateSize, rows: number) {
    this.#size = size;
    this.#rows = rows;
  }

  /** Returns an unused slab; may clear one for it. */
  take(): StateSlab {
    let fewest: StateSlab | null = null;
    for (let index = 0; index < this.#slabs.length; index++) {
      const slab = this.#slabs[index]!;
      if (slab.count === 0) return slab;
      if (fewest === null || slab.count < fewest.count) fewest = slab;
    }
    if (fewest !== null && this.#slabs.length === MAX_SLABS) {
      fewest.clear();
      return fewest;
    }
    const added = new StateSlab(this.#size, this.#rows);
    this.#slabs.push(added);
    return added;
  }
}

/** Returns the slab with the states of exactly these tracks in exactly these rows; null without one. */
export function slabOf(
  tracks: { at(index: number): { readonly place: StatePlace } },
  first: number,
  end: number,
): StateSlab | null {
  const { slab } = tracks.at(first).place;
  for (let index = first; index < end; index++) {
    if (!tracks.at(index).place.isIn(slab, index - first)) return null;
  }
  return slab;
}
