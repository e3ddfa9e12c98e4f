import { copyState, type EncoderState, StateRows, type StateSize } from "../models/state-rows.js";

/** Frames per block of encoder output: 1.3 s. */
export const BLOCK_FRAMES = 32;
/** Items of a pool are allocated this many at a time, contiguously. */
const POOL_ITEMS = 32;
/** A slab of 64 rows is a megabyte. */
const MAX_SLABS = 8;

/** Memory of one size, reused and never freed. */
class Pool<T> {
  readonly #allocate: (count: number) => readonly T[];
  readonly #free: T[] = [];

  constructor(allocate: (count: number) => readonly T[]) {
    this.#allocate = allocate;
  }

  /** Returns an item with arbitrary content. */
  acquire(): T {
    // Take the last item first, so that items are acquired in memory order.
    if (this.#free.length === 0) this.#free.push(...this.#allocate(POOL_ITEMS).toReversed());
    return this.#free.pop()!;
  }

  release(item: T): void {
    this.#free.push(item);
  }
}

/** Rows of floats. */
export class RowPool extends Pool<Float32Array> {
  constructor(rowSize: number) {
    super((count) => {
      const memory = new Float32Array(count * rowSize);
      return Array.from({ length: count }, (_, row) => memory.subarray(row * rowSize, (row + 1) * rowSize));
    });
  }
}

/** Encoder states. */
export class StatePool extends Pool<EncoderState> {
  constructor(size: StateSize) {
    super((count) => new StateRows(size, count).rows);
  }

  /** Returns the initial state of a session, or, if `isDirtyFine`, one that the caller overwrites. */
  override acquire(isDirtyFine = false): EncoderState {
    const state = super.acquire();
    if (isDirtyFine) return state;
    state.values.fill(0);
    state.bytes.fill(0);
    return state;
  }
}

/**
 * One row per frame for a session's last frames, in blocks from a shared pool: a session holds as many blocks
 * as its open utterance needs, and a steady session allocates nothing.
 */
export class FrameRows {
  readonly #width: number;
  readonly #pool: RowPool;
  readonly #blocks: Float32Array[] = [];
  /** Number of the first block that it holds, counted from frame 0. */
  #firstBlock: number;
  #endFrame: number;

  /**
   * @param pool of rows of `BLOCK_FRAMES * width`
   * @param firstFrame number of the frame that is pushed first
   */
  constructor(pool: RowPool, width: number, firstFrame: number) {
    this.#pool = pool;
    this.#width = width;
    this.#endFrame = firstFrame;
    this.#firstBlock = Math.floor(firstFrame / BLOCK_FRAMES);
  }

  /** One past the last frame. */
  get endFrame(): number {
    return this.#endFrame;
  }

  push(row: Float32Array): void {
    const index = this.#endFrame % BLOCK_FRAMES;
    const block = Math.floor(this.#endFrame / BLOCK_FRAMES) - this.#firstBlock;
    if (block === this.#blocks.length) this.#blocks.push(this.#pool.acquire());
    this.#blocks[block]!.set(row, index * this.#width);
    this.#endFrame++;
  }

  /** Releases the blocks that end before `frame`. */
  discardBefore(frame: number): void {
    const keep = Math.floor(Math.min(frame, this.#endFrame) / BLOCK_FRAMES);
    while (this.#firstBlock < keep) {
      const block = this.#blocks.shift();
      if (block !== undefined) this.#pool.release(block);
      this.#firstBlock++;
    }
  }

  /** Copies the rows from `startFrame` to `endFrame`, which must be held. */
  copy(startFrame: number, endFrame: number, target: Float32Array): void {
    for (let frame = startFrame; frame < endFrame; ) {
      const block = Math.floor(frame / BLOCK_FRAMES);
      const until = Math.min(endFrame, (block + 1) * BLOCK_FRAMES);
      const rows = this.#blocks[block - this.#firstBlock];
      if (rows === undefined) throw new RangeError(`frame ${frame} is no longer held`);
      const from = (frame % BLOCK_FRAMES) * this.#width;
      target.set(
        rows.subarray(from, from + (until - frame) * this.#width),
        (frame - startFrame) * this.#width,
      );
      frame = until;
    }
  }

  /** Releases all blocks; nothing may be pushed afterwards. */
  release(): void {
    for (const block of this.#blocks.splice(0)) this.#pool.release(block);
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

  /** Records that a batch has written a newer state to this row. */
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

  /** Releases the row; the state is lost. */
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
