/** Frames per block: 1.3 s. */
export const BLOCK_FRAMES = 32;
/** Rows of a pool are allocated this many at a time, contiguously. */
const POOL_ROWS = 32;

/** Rows of floats of one size, reused and never freed. */
export class RowPool {
  readonly #rowSize: number;
  readonly #free: Float32Array[] = [];

  constructor(rowSize: number) {
    this.#rowSize = rowSize;
  }

  /** Returns a row with arbitrary content. */
  acquire(): Float32Array {
    if (this.#free.length === 0) {
      const slab = new Float32Array(POOL_ROWS * this.#rowSize);
      // Last row first, so that rows are acquired in the order of memory.
      for (let row = POOL_ROWS - 1; row >= 0; row--) {
        this.#free.push(slab.subarray(row * this.#rowSize, (row + 1) * this.#rowSize));
      }
    }
    return this.#free.pop()!;
  }

  release(row: Float32Array): void {
    this.#free.push(row);
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
  /** Number of the first block that is held, counted from frame 0. */
  #firstBlock: number;
  #endFrame: number;

  /**
   * @param pool of rows of `BLOCK_FRAMES * width`
   * @param firstFrame the frame that is pushed first
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
