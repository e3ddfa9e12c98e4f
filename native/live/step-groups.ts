import type { StepCapacity } from "../models/recognizer.js";
import { batchRows } from "./batch-shapes.js";
import type { LiveTrack } from "./live-track.js";

/** Frames a row may take in one step, short chunks first: paced sessions take one or two, those that lag take more. */
export const CHUNK_FRAMES = [1, 2, 4, 8, 16] as const;
/** Chunks up to this length are of sessions that keep up; nothing may hold those up for long. */
export const FRESH_FRAMES = 2;
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
