import type { StepBatch } from "../models/recognizer.js";
import type { EncoderState } from "../models/state-rows.js";

/** Rows of a batch; a few fixed shapes, so that buffers are made once. On a core a row costs no less above 64. */
const BATCH_ROWS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256] as const;

/** The last of them is `most`. */
export function batchRows(most: number): readonly number[] {
  return [...BATCH_ROWS.filter((rows) => rows < most), most];
}

/** A batch with a view of each row, made once. */
export interface RowedBatch extends StepBatch {
  readonly pcmRows: readonly Float32Array[];
  readonly stateRows: readonly EncoderState[];
  /** A view of each frame of each row, one row after the other. */
  readonly encodedFrames: readonly Float32Array[];
}

/** Batches of the fixed shapes, made when they are first needed. */
export class BatchShapes {
  readonly #make: (rows: number, frames: number) => StepBatch;
  readonly #rows: readonly number[];
  readonly #batches: RowedBatch[] = [];

  /** @param most rows of a batch */
  constructor(make: (rows: number, frames: number) => StepBatch, most: number) {
    this.#make = make;
    this.#rows = batchRows(most);
  }

  /** Rows that batches have, rising. */
  get rows(): readonly number[] {
    return this.#rows;
  }

  /** The smallest batch with room for so many rows. */
  forRows(count: number, frames: number): RowedBatch {
    const rows = this.#rows.find((size) => size >= count)!;
    const key = frames * (this.#rows.at(-1)! + 1) + rows;
    let batch = this.#batches[key];
    if (batch === undefined) {
      batch = withRows(this.#make(rows, frames));
      this.#batches[key] = batch;
    }
    return batch;
  }
}

function withRows(batch: StepBatch): RowedBatch {
  const partsOf = (values: Float32Array, count: number) => {
    const size = values.length / count;
    return Array.from({ length: count }, (_, part) => values.subarray(part * size, (part + 1) * size));
  };
  const values = partsOf(batch.state.values, batch.rows);
  const bytes = batch.state.bytes.length / batch.rows;
  return {
    ...batch,
    pcmRows: partsOf(batch.pcm, batch.rows),
    stateRows: values.map((part, row) => ({
      values: part,
      bytes: batch.state.bytes.subarray(row * bytes, (row + 1) * bytes),
    })),
    encodedFrames: partsOf(batch.encoded, batch.rows * batch.frames),
  };
}
