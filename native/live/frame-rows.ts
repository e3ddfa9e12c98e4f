import type { RowPool } from "./state-pool.js";

/** Frames of one block: 1.3 s. */
export const BLOCK_FRAMES = 32;

/**
 * One row per frame for the last frames of a session, in blocks from a shared pool: a session holds as many blocks as
 * its open utterance is long, and a steady session allocates nothing.
 */
export class FrameRows {
  readonly #width: number;
  readonly #pool: RowPool;
  readonly #blocks: Float32Array[] = [];
  /** Number of the first block that is held, counted in blocks since frame 0. */
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

  /** Appends the row of the next frame. */
  push(row: Float32Array): void {
    const index = this.#endFrame % BLOCK_FRAMES;
    const block = Math.floor(this.#endFrame / BLOCK_FRAMES) - this.#firstBlock;
    if (block === this.#blocks.length) this.#blocks.push(this.#pool.acquire());
    this.#blocks[block]!.set(row, index * this.#width);
    this.#endFrame++;
  }

  /** Gives up frames before `frame`, as far as whole blocks allow. */
  forget(frame: number): void {
    const keep = Math.floor(Math.min(frame, this.#endFrame) / BLOCK_FRAMES);
    while (this.#firstBlock < keep) {
      const block = this.#blocks.shift();
      if (block !== undefined) this.#pool.release(block);
      this.#firstBlock++;
    }
  }

  /** Copies the rows of `startFrame` up to `endFrame`, which must be held. */
  copy(startFrame: number, endFrame: number, target: Float32Array): void {
    for (let frame = startFrame; frame < endFrame; ) {
      const block = Math.floor(frame / BLOCK_FRAMES);
      const until = Math.min(endFrame, (block + 1) * BLOCK_FRAMES);
      const rows = this.#blocks[block - this.#firstBlock];
      if (rows === undefined) throw new RangeError(`frame ${frame} is not held any more`);
      const from = (frame % BLOCK_FRAMES) * this.#width;
      target.set(
        rows.subarray(from, from + (until - frame) * this.#width),
        (frame - startFrame) * this.#width,
      );
      frame = until;
    }
  }

  /** Gives everything back; nothing may be pushed afterwards. */
  release(): void {
    for (const block of this.#blocks.splice(0)) this.#pool.release(block);
  }
}
