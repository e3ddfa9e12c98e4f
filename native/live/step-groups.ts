import type { StepBatch, StepCapacity } from "../models/recognizer.js";
import type { EncoderState } from "../models/state-rows.js";
import type { LiveTrack } from "./live-track.js";

/** Frames a row may take in one step, short chunks first: paced sessions take one or two, those that lag take more. */
export const CHUNK_FRAMES = [1, 2, 4, 8, 16] as const;
/** Chunks up to this length are of sessions that keep up; nothing may hold those up for long. */
export const FRESH_FRAMES = 2;
/** Rows of a batch; a few fixed shapes, so that buffers are made once. On a core a row costs no less above 64. */
const BATCH_ROWS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256] as const;
/** With 64 rows 128 frames, about 20 ms on one core: a backlog delays others by no more. */
const FRAMES_PER_ROW = 2;

/** The largest batch. @param rows see `BatchRows.liveRows` */
export function stepCapacity(rows: number): StepCapacity {
  return { rows, frames: FRAMES_PER_ROW * rows };
}

interface BatchShape {
  readonly rows: number;
  readonly frames: number;
}

/** What most batches of a CPU have. */
export const USUAL_SHAPES: readonly BatchShape[] = [1, 2, 4, 8].flatMap((rows) =>
  [1, 2, 4].map((frames) => ({ rows, frames })),
);
/** All that batches can have. */
export function everyShape(capacity: StepCapacity): readonly BatchShape[] {
  return CHUNK_FRAMES.flatMap((frames) =>
    batchRows(capacity.rows)
      .filter((rows) => rows * frames <= capacity.frames)
      .map((rows) => ({ rows, frames })),
  );
}

/** The last of them is `most`. */
function batchRows(most: number): readonly number[] {
  return [...BATCH_ROWS.filter((rows) => rows < most), most];
}

/** Sessions that take chunks of the same length in one round. */
export class StepGroup {
  readonly frames: number;
  /** The most rows of one batch. */
  readonly maxRows: number;
  count = 0;
  /** Which of them comes first. */
  first = 0;
  readonly #tracks: (LiveTrack | undefined)[] = [];

  constructor(frames: number, capacity: StepCapacity) {
    this.frames = frames;
    this.maxRows = Math.max(1, Math.min(capacity.rows, Math.floor(capacity.frames / frames)));
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
  readonly #rows: readonly number[];
  readonly #batches: RowedBatch[] = [];

  /** @param most rows of a batch */
  constructor(make: (rows: number, frames: number) => StepBatch, most: number) {
    this.#make = make;
    this.#rows = batchRows(most);
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
