import { copyState, type EncoderState, StateRows, type StateSize } from "../models/state-rows.js";

/** At most so many; a slab of 64 rows is a megabyte. */
const MAX_SLABS = 8;

/** Where the state of one track lies: where the last batch has left it, or in memory of its own. */
export class StatePlace {
  /** Memory of its own. */
  readonly own: EncoderState;
  #state: EncoderState;
  #slab: StateSlab | null = null;
  #row = 0;

  /** @param own holds the state that the track begins with */
  constructor(own: EncoderState) {
    this.own = own;
    this.#state = own;
  }

  /** The state as it is now. */
  get state(): EncoderState {
    return this.#state;
  }

  get slab(): StateSlab | null {
    return this.#slab;
  }

  isIn(slab: StateSlab | null, row: number): boolean {
    return this.#slab === slab && this.#row === row;
  }

  /** A batch has left a newer state in this row. */
  moveTo(slab: StateSlab, row: number): void {
    this.#slab?.forget(this.#row);
    slab.hold(row, this);
    this.#slab = slab;
    this.#row = row;
    this.#state = slab.states.rows[row]!;
  }

  /** The slab is wanted for something else. */
  moveHome(): void {
    copyState(this.#state, this.own);
    this.leave();
    this.#state = this.own;
  }

  /** Gives the row up; the state is nowhere. */
  leave(): void {
    this.#slab?.forget(this.#row);
    this.#slab = null;
  }
}

/** States as one batch has left them, as long as a track has them. */
export class StateSlab {
  readonly states: StateRows;
  readonly #places: (StatePlace | null)[];
  #count = 0;

  constructor(size: StateSize, rows: number) {
    this.states = new StateRows(size, rows);
    this.#places = new Array<StatePlace | null>(rows).fill(null);
  }

  /** How many of its rows hold a track's state. */
  get count(): number {
    return this.#count;
  }

  /** Called by `StatePlace` only. */
  hold(row: number, place: StatePlace): void {
    this.#places[row] = place;
    this.#count++;
  }

  /** Called by `StatePlace` only. */
  forget(row: number): void {
    this.#places[row] = null;
    this.#count--;
  }

  /** Moves what is left into the tracks' own memory. */
  clear(): void {
    for (let row = 0; row < this.#places.length && this.#count > 0; row++) this.#places[row]?.moveHome();
  }
}

/**
 * Where batches leave the states of tracks. A state is not copied back to its track: it stays in the batch's output
 * until a later batch has left a newer one elsewhere, and a batch of the same tracks in the same rows runs from there.
 */
export class StateSlabs {
  readonly #size: StateSize;
  readonly #rows: number;
  readonly #slabs: StateSlab[] = [];

  /** @param rows of the largest batch */
  constructor(size: StateSize, rows: number) {
    this.#size = size;
    this.#rows = rows;
  }

  /** A slab that holds no track's state; states may be moved for it. */
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

/** Where one batch has left the states of just these tracks in just these rows; null when none has. */
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
