import type { StepBatch } from "../models/recognizer.js";
import type { EncoderState } from "../models/state-rows.js";
import type { LiveTrack } from "./live-track.js";

/** Frames a row may take in one step, short chunks first: paced sessions take one or two, those that lag take more. */
export const CHUNK_FRAMES = [1, 2, 4, 8, 16] as const;
/** Chunks up to this length are of sessions that keep up; nothing may hold those up for long. */
export const FRESH_FRAMES = 2;
/** Rows of a batch; a few fixed shapes, so that buffers are made once. Above 64 a row costs no less. */
const BATCH_ROWS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64] as const;
const MAX_ROWS = 64;
/** Rows times frames of one batch: about 20 ms on one core, so that a backlog delays others by no more. */
const MAX_BATCH_FRAMES = 128;

export const STEP_CAPACITY = { rows: MAX_ROWS, frames: MAX_BATCH_FRAMES } as const;

interface BatchShape {
  readonly rows: number;
  readonly frames: number;
}

/** What most batches of a CPU have. */
export const USUAL_SHAPES: readonly BatchShape[] = [1, 2, 4, 8].flatMap((rows) =>
  [1, 2, 4].map((frames) => ({ rows, frames })),
);
/** All that batches can have. */
export const EVERY_SHAPE: readonly BatchShape[] = CHUNK_FRAMES.flatMap((frames) =>
  BATCH_ROWS.filter((rows) => rows * frames <= MAX_BATCH_FRAMES).map((rows) => ({ rows, frames })),
);

/** Sessions that take chunks of the same length in one round. */
export class StepGroup {
  readonly frames: number;
  /** The most rows of one batch. */
  readonly maxRows: number;
  count = 0;
  /** Which of them comes first. */
  first = 0;
  readonly #tracks: (LiveTrack | undefined)[] = [];

  constructor(frames: number) {
    this.frames = frames;
    this.maxRows = Math.min(MAX_ROWS, MAX_BATCH_FRAMES / frames);
  }

  add(track: LiveTrack): void {
    this.#tracks[this.count++] = track;
  }

  at(index: number): LiveTrack {
    return this.#tracks[(this.first + index) % this.count]!;
  }

  /** Forgets the sessions of the last round, those that have ended among them. */
  clear(): void {
    this.#tracks.fill(undefined, 0, this.count);
    this.count = 0;
    this.first = 0;
  }
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
  readonly #batches: RowedBatch[] = [];

  constructor(make: (rows: number, frames: number) => StepBatch) {
    this.#make = make;
  }

  /** The smallest batch with room for so many rows. */
  forRows(count: number, frames: number): RowedBatch {
    const rows = BATCH_ROWS.find((size) => size >= count)!;
    const key = frames * (MAX_ROWS + 1) + rows;
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
