import type { Hash } from "node:crypto";
import { access, constants, open, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../../core/domain/errors.js";
import { ENDLESS_ROOM, type SpoolRoom, type SpoolShare } from "../../core/ports/spool-room.js";

export const LONGEST_UPLOAD_BYTES = 999_999_999;
/** Small chunks are joined into writes of this size. */
const WRITE_BYTES = 64 * 1024;
/** Size of the largest file that is fetched from a URL. */
export const LONGEST_FETCH_BYTES = 2 ** 31;

/**
 * Writes an upload to a file, with at most a few chunks in memory, and calls `use` with the file's path. The
 * file is deleted in every case.
 *
 * @throws {ServiceError} `BODY_TOO_LARGE`, `STORAGE_FULL`, `NO_AUDIO`, `CANCELLED`, and whatever `use` throws
 */
export async function withUpload<T>(
  body: AsyncIterable<Uint8Array>,
  options: {
    readonly spoolDir: string;
    /** Unlimited if absent. */
    readonly room?: SpoolRoom;
    readonly name: string;
    /** File extension including its dot; may be empty. */
    readonly extension: string;
    readonly maxBytes: number;
    readonly hash?: Hash | undefined;
  },
  use: (path: string) => Promise<T>,
): Promise<T> {
  const path = join(options.spoolDir, `${options.name}${options.extension}`);
  const share = (options.room ?? ENDLESS_ROOM).open();
  try {
    const bytes = await writeUpload(body, path, share, options);
    if (bytes === 0) throw new ServiceError("NO_AUDIO", "no audio supplied");
    return await use(path);
  } finally {
    await rm(path, { force: true });
    share.release();
  }
}

/** Returns the extension of the client's file name if it looks like one; otherwise `.wav`. */
export function safeExtension(fileName: string | undefined): string {
  return /\.[a-z0-9]{1,8}$/.exec((fileName ?? "").trim().toLowerCase())?.[0] ?? ".wav";
}

export function uploadTooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    "BODY_TOO_LARGE",
    `the audio must be at most ${maxBytes} bytes; split it and send it in parts`,
  );
}

async function writeUpload(
  body: AsyncIterable<Uint8Array>,
  path: string,
  share: SpoolShare,
  { maxBytes, hash }: { readonly maxBytes: number; readonly hash?: Hash | undefined },
): Promise<number> {
  const file = await open(path, "wx", 0o600);
  try {
    let bytes = 0;
    // Writing one byte costs as much as writing thousands, so small chunks are joined.
    const block = new Uint8Array(WRITE_BYTES);
    let held = 0;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw uploadTooLarge(maxBytes);
      await share.take(chunk.length);
      hash?.update(chunk);
      if (held + chunk.length > block.length) {
        await file.writeFile(block.subarray(0, held));
        held = 0;
      }
      if (chunk.length >= block.length) await file.writeFile(chunk);
      else {
        block.set(chunk, held);
        held += chunk.length;
      }
    }
    await file.writeFile(block.subarray(0, held));
    return bytes;
  } finally {
    await file.close();
  }
}

/** How long the system's report of free space is reused. */
const FREE_SPACE_MS = 100;
/** Interval at which a growing file is measured; a decoder writes at most about a hundred MB a second. */
const WATCH_MS = 50;

/**
 * Deletes cached files until this many bytes are free or none is left. @returns the number of bytes deleted
 */
type Reclaim = (bytes: number) => Promise<number>;

/** Tracks the free space on a folder's disk above the floor that is reserved for the database. */
export class DiskSpace {
  readonly #folder: string;
  readonly #floorBytes: number;
  #freeBytes = 0;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;
  #reclaim: Reclaim | null = null;

  constructor(folder: string, floorBytes: number) {
    this.#folder = folder;
    this.#floorBytes = floorBytes;
  }

  /** Registers the cache on this disk, whose files make way for everything else. */
  reclaimFrom(cache: Reclaim): void {
    this.#reclaim = cache;
  }

  /** Returns whether the bytes fit. Deletes cached files if there would be no room otherwise. */
  async hasRoomFor(bytes: number): Promise<boolean> {
    if (performance.now() - this.#askedAtMs > FREE_SPACE_MS) {
      this.#asking ??= this.#ask();
      await this.#asking;
    }
    const missing = this.#floorBytes + bytes - this.#freeBytes;
    // Nothing can be deleted on a read-only disk, whose free space counts as minus infinity.
    if (missing > 0 && Number.isFinite(missing)) this.#freeBytes += (await this.#reclaim?.(missing)) ?? 0;
    return this.#freeBytes - bytes >= this.#floorBytes;
  }

  /** Counts bytes that were written since the system was last queried. */
  wrote(bytes: number): void {
    this.#freeBytes -= bytes;
  }

  async #ask(): Promise<void> {
    try {
      const { bavail, bsize } = await statfs(this.#folder);
      // A read-only mount reports free space that cannot be used.
      const isWritable = await access(this.#folder, constants.W_OK).then(
        () => true,
        () => false,
      );
      this.#freeBytes = isWritable ? bavail * bsize : Number.NEGATIVE_INFINITY;
    } catch {
      // If free space is unknown, there is no floor. A full disk then shows as a failed write.
      this.#freeBytes = Number.POSITIVE_INFINITY;
    }
    this.#askedAtMs = performance.now();
    this.#asking = null;
  }
}

/** Limits the disk space of uploaded, fetched and decoded audio by a budget and a floor of free space. */
export class SpoolBudget implements SpoolRoom {
  readonly #capacityBytes: number;
  readonly #disk: DiskSpace;
  #takenBytes = 0;

  constructor(capacityBytes: number, disk: DiskSpace) {
    this.#capacityBytes = capacityBytes;
    this.#disk = disk;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  async check(bytes: number): Promise<void> {
    if (this.#takenBytes + bytes > this.#capacityBytes)
      throw storageFull("no disk space is left in the budget for audio; try again in a moment");
    if (!(await this.#disk.hasRoomFor(bytes)))
      throw storageFull("the service has too little free disk space for audio; try again later");
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
            // The file was not created yet, or is already deleted.
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

function storageFull(message: string): ServiceError {
  return new ServiceError("STORAGE_FULL", message);
}
