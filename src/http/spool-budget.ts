import { access, constants, stat, statfs } from "node:fs/promises";
import { ServiceError } from "../../core/domain/errors.js";
import type { SpoolRoom, SpoolShare } from "../../core/ports/spool-room.js";

/** How long what the system said about free space is believed. */
const BELIEVED_MS = 100;
/** A decoder writes some hundred MB a second at most. */
const WATCH_MS = 50;

/** The free space of the disk that holds a folder, above the floor that is left to the database beside it. */
export class DiskSpace {
  readonly #folder: string;
  readonly #floorBytes: number;
  #freeBytes = 0;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  constructor(folder: string, floorBytes: number) {
    this.#folder = folder;
    this.#floorBytes = floorBytes;
  }

  /** Whether so much more may be written. */
  async hasRoomFor(bytes: number): Promise<boolean> {
    if (performance.now() - this.#askedAtMs > BELIEVED_MS) {
      this.#asking ??= this.#ask();
      await this.#asking;
    }
    return this.#freeBytes - bytes >= this.#floorBytes;
  }

  /** Bytes were written since the system was asked. */
  wrote(bytes: number): void {
    this.#freeBytes -= bytes;
  }

  async #ask(): Promise<void> {
    try {
      const { bavail, bsize } = await statfs(this.#folder);
      // What is mounted read-only has free space that nobody can use.
      const isWritable = await access(this.#folder, constants.W_OK).then(
        () => true,
        () => false,
      );
      this.#freeBytes = isWritable ? bavail * bsize : Number.NEGATIVE_INFINITY;
    } catch {
      // A system that does not tell has no floor; what cannot be written is then an error of writing.
      this.#freeBytes = Number.POSITIVE_INFINITY;
    }
    this.#askedAtMs = performance.now();
    this.#asking = null;
  }
}

/**
 * Bounds what uploads, fetched audio and decoded audio take on the disk, which they share with the database: all together
 * by a budget, and by the floor of free space that must be left.
 */
export class SpoolBudget implements SpoolRoom {
  readonly #capacityBytes: number;
  readonly #disk: DiskSpace;
  #takenBytes = 0;

  constructor(capacityBytes: number, disk: DiskSpace) {
    this.#capacityBytes = capacityBytes;
    this.#disk = disk;
  }

  /** Bytes of all files together. */
  get takenBytes(): number {
    return this.#takenBytes;
  }

  async check(bytes: number): Promise<void> {
    if (this.#takenBytes + bytes > this.#capacityBytes) throw spoolFull();
    if (!(await this.#disk.hasRoomFor(bytes))) throw diskFull();
  }

  open(): SpoolShare {
    let taken = 0;
    let watch: NodeJS.Timeout | undefined;
    let isReleased = false;
    const count = (bytes: number) => {
      taken += bytes;
      this.#takenBytes += bytes;
      this.#disk.wrote(bytes);
    };
    const take = async (bytes: number) => {
      await this.check(bytes);
      if (!isReleased) count(bytes);
    };
    return {
      take,
      watch: (path, onFull) => {
        const look = async () => {
          try {
            const { size } = await stat(path);
            if (size > taken) await take(size - taken);
          } catch (error) {
            // Not there yet, or not any more.
            if (!(error instanceof ServiceError)) return;
            clearInterval(watch);
            onFull(error);
          }
        };
        let looking: Promise<void> | null = null;
        const lookAlone = () => {
          looking ??= look().finally(() => {
            looking = null;
          });
          return looking;
        };
        watch = setInterval(() => void lookAlone(), WATCH_MS);
        return async () => {
          clearInterval(watch);
          await looking;
          await lookAlone();
        };
      },
      release: () => {
        isReleased = true;
        clearInterval(watch);
        this.#takenBytes -= taken;
        this.#disk.wrote(-taken);
        taken = 0;
      },
    };
  }
}

function spoolFull(): ServiceError {
  return new ServiceError(
    "STORAGE_FULL",
    "the service is working on as much audio as it has room for: try again in a moment",
  );
}

function diskFull(): ServiceError {
  return new ServiceError(
    "STORAGE_FULL",
    "the service has too little free disk space for audio: try again later",
  );
}
