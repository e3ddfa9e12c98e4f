import type { RecognizerModel, StepBatch, StepCapacity } from "../models/recognizer.js";
import type { EncoderState } from "../models/state-rows.js";

/** Batch sizes for providers that prepare kernels for each shape: few, so that they start soon. */
const PREPARED_ROWS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256] as const;
/** Up to this size, batches of other providers have no row without a session. */
const MAX_EXACT_ROWS = 16;
/** At most a tenth of a larger one is padding. */
const FINE_STEP = 1 / 8;

/** Lists the batch sizes up to `most`, which is the last. On a core, rows do not get cheaper above 64. */
export function batchRows(most: number, isPrepared: boolean): readonly number[] {
  const sizes = isPrepared ? PREPARED_ROWS : fineRows(most);
  return [...sizes.filter((rows) => rows < most), most];
}

function fineRows(most: number): readonly number[] {
  const sizes: number[] = [];
  for (let rows = 1; rows < most; rows += rows < MAX_EXACT_ROWS ? 1 : Math.floor(rows * FINE_STEP))
    sizes.push(rows);
  return sizes;
}

/** A batch with views of its rows, made once. */
export interface RowedBatch extends StepBatch {
  readonly pcmRows: readonly Float32Array[];
  readonly stateRows: readonly EncoderState[];
  /** A view of each frame, row by row. */
  readonly encodedFrames: readonly Float32Array[];
}

export class BatchShapes {
  /** Batch sizes in ascending order. */
  readonly rows: readonly number[];
  readonly #make: (rows: number, frames: number) => StepBatch;
  readonly #mostFrames: number;
  readonly #batches: RowedBatch[] = [];

  /**
   * @param model makes the batches
   * @param capacity of the largest batch; rows times frames of a smaller one may not exceed its frames
   * @param rows batch sizes in ascending order
   */
  constructor(model: Pick<RecognizerModel, "stepBatches">, capacity: StepCapacity, rows: readonly number[]) {
    this.#make = model.stepBatches(capacity);
    this.#mostFrames = capacity.frames;
    this.rows = rows;
  }

  /** Returns the smallest batch with at least `count` rows, with less padding if it would not fit otherwise. */
  forRows(count: number, frames: number): RowedBatch {
    const fitting = Math.floor(this.#mostFrames / frames);
    if (count > fitting) throw new RangeError(`${count} rows of ${frames} frames exceed the capacity`);
    const rows = Math.min(this.rows.find((size) => size >= count)!, fitting);
    const key = frames * (this.rows.at(-1)! + 1) + rows;
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
