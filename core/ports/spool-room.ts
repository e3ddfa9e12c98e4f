import type { ServiceError } from "../domain/errors.js";

/** Room on the disk for what is written while a request is served, and goes with it. */
export interface SpoolRoom {
  /**
   * Refuses what would not fit now, before any of it is taken.
   * @param bytes that are announced, 0 when nobody knows
   * @throws {ServiceError} `STORAGE_FULL`
   */
  check(bytes: number): Promise<void>;
  /** A part of the room, for one file. Nothing is taken yet. */
  open(): SpoolShare;
}

/** What one file takes of the room. */
export interface SpoolShare {
  /** Counts bytes that are about to be written. @throws {ServiceError} `STORAGE_FULL` */
  take(bytes: number): Promise<void>;
  /**
   * Counts a file that somebody else writes, as it grows. `onFull` is told once, when it has outgrown the room.
   * @returns to be called when it grows no more: looks for the last time
   */
  watch(path: string, onFull: (error: ServiceError) => void): () => Promise<void>;
  /** The file is gone. May be called twice. */
  release(): void;
}

/** Room without bounds. */
export const ENDLESS_ROOM: SpoolRoom = {
  check: async () => {},
  open: () => ({ take: async () => {}, watch: () => async () => {}, release: () => {} }),
};
