import type { ServiceError } from "../domain/errors.js";

/** Disk space for files that exist only while a request is served. */
export interface SpoolRoom {
  /**
   * Rejects a file that would not fit now.
   * @param bytes announced size, 0 if unknown
   * @throws {ServiceError} `STORAGE_FULL`
   */
  check(bytes: number): Promise<void>;
  /** Starts counting one file. */
  open(): SpoolShare;
}

/** Disk space of one file. */
export interface SpoolShare {
  /** Counts bytes that are about to be written. @throws {ServiceError} `STORAGE_FULL` */
  take(bytes: number): Promise<void>;
  /**
   * Counts a file that another process writes, as it grows. `onFull` is called once, when there is no more
   * space.
   * @returns a function that makes the final count, to be called when the file is complete
   */
  watch(path: string, onFull: (error: ServiceError) => void): () => Promise<void>;
  /** Called when the file is deleted. May be called twice. */
  release(): void;
}

export const ENDLESS_ROOM: SpoolRoom = {
  check: async () => {},
  open: () => ({ take: async () => {}, watch: () => async () => {}, release: () => {} }),
};
