import type { StepCapacity } from "../models/recognizer.js";
import { batchRows } from "./batch-shapes.js";
import type { LiveTrack } from "./live-track.js";

/** Frames per row and step: paced sessions take one or two, sessions with a backlog take more. */
export const CHUNK_FRAMES = [1, 2, 4, 8, 16] as const;
/** The longest chunk of sessions that keep up, which must not wait for others. */
export const FRESH_FRAMES = 2;
/** 128 frames with 64 rows take about 20 ms on a core: a backlog delays other sessions by no more. */
const FRAMES_PER_ROW = 2;

/** Returns the size of the largest batch. @param rows see `BatchRows.liveRows` */
export function stepCapacity(rows: number): StepCapacity {
  return { rows, frames: Math.max(FRAMES_PER_ROW * rows, CHUNK_FRAMES.at(-1)!) };
}

interface BatchShape {
  readonly rows: number;
  readonly frames: number;
}

/** The most frequent shapes on a CPU. */
export const USUAL_SHAPES: readonly BatchShape[] = [1, 2, 4, 8].flatMap((rows) =>
  [1, 2, 4].map((frames) => ({ rows, frames })),
);
export function everyShape(capacity: StepCapacity): readonly BatchShape[] {
  return CHUNK_FRAMES.flatMap((frames) =>
    batchRows(capacity.rows, true)
      .filter((rows) => rows * frames <= capacity.frames)
      .map((rows) => ({ rows, frames })),
  );
}

/** Sessions with chunks of the same length in one round. */
export class StepGroup {
  readonly frames: number;
  readonly maxRows: number;
  count = 0;
  /** Index of the session that is first in this round. */
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

  /** Drops references to sessions, which may have ended. */
  clear(): void {
    this.#tracks.fill(undefined, 0, this.count);
    this.count = 0;
    this.first = 0;
  }
}
