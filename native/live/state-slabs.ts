import { copyState, type StreamState } from "../models/recognizer.js";
import { StateRows, type StateSize } from "../models/state-rows.js";

/** At most so many; a slab of 64 rows is a megabyte. */
const MAX_SLABS = 8;

/** A session whose state lies where the last batch has left it. */
export interface StateOwner {
  /** Its state now: a row of `slab`, or `ownState`. */
  state: StreamState;
  /** Memory of its own. */
  readonly ownState: StreamState;
  slab: StateSlab | null;
  slabRow: number;
}

/** States as one batch has left them, as long as they are somebody's. */
export class StateSlab {
  readonly states: StateRows;
  readonly #owners: (StateOwner | null)[];
  #count = 0;

  constructor(size: StateSize, rows: number) {
    this.states = new StateRows(size, rows);
    this.#owners = new Array<StateOwner | null>(rows).fill(null);
  }

  /** How many of its rows are somebody's. */
  get count(): number {
    return this.#count;
  }

  /** The state of `owner` is now in this row. */
  put(owner: StateOwner, row: number): void {
    owner.slab?.remove(owner);
    this.#owners[row] = owner;
    this.#count++;
    owner.slab = this;
    owner.slabRow = row;
    owner.state = this.states.rows[row]!;
  }

  /** The row is nobody's any more; the owner's state is nowhere. */
  remove(owner: StateOwner): void {
    this.#owners[owner.slabRow] = null;
    this.#count--;
    owner.slab = null;
  }

  /** Moves what is left into its owners' own memory. */
  clear(): void {
    for (let row = 0; row < this.#owners.length && this.#count > 0; row++) {
      const owner = this.#owners[row];
      if (!owner) continue;
      copyState(owner.state, owner.ownState);
      this.remove(owner);
      owner.state = owner.ownState;
    }
  }
}

/**
 * Where batches leave the states of sessions. A state is not copied back to its session: it stays in the batch's output
 * until a later batch has left a newer one elsewhere, and a batch of the same sessions in the same rows runs from there.
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

  /** A slab that holds nobody's state; states may be moved for it. */
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

/** Where one batch has left the states of just these owners in just these rows; null when none has. */
export function slabOf(
  owners: { at(index: number): StateOwner },
  first: number,
  end: number,
): StateSlab | null {
  const { slab } = owners.at(first);
  for (let index = first; index < end; index++) {
    const owner = owners.at(index);
    if (owner.slab !== slab || owner.slabRow !== index - first) return null;
  }
  return slab;
}
