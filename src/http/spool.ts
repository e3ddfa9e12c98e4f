import type { Hash } from "node:crypto";
import { access, constants, type FileHandle, open, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../../core/domain/errors.js";
import { ENDLESS_ROOM, type SpoolRoom, type SpoolShare } from "../../core/ports/spool-room.js";

/** The longest upload in bytes. */
export const LONGEST_UPLOAD_BYTES = 999_999_999;
/** Bytes that are gathered for one write. */
const WRITE_BYTES = 64 * 1024;
/** The longest file behind a URL in bytes. */
export const LONGEST_FETCH_BYTES = 2 ** 31;

/**
 * Writes an upload to a file of its own, at the pace of the disk, and lends its path to `use`.
 *
 * The file is deleted in every ending. At no time is more than a few chunks in memory.
 *
 * @param extension with its dot, or empty
 * @throws {ServiceError} `BODY_TOO_LARGE`, `STORAGE_FULL`, `NO_AUDIO`, `CANCELLED`, and whatever `use` throws
 */
export async function withUpload<T>(
  body: AsyncIterable<Uint8Array>,
  options: {
    readonly spoolDir: string;
    /** Without bounds when it is not said. */
    readonly room?: SpoolRoom;
    readonly name: string;
    readonly extension: string;
    readonly maxBytes: number;
    /** Is told every byte of the upload. */
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

/** The extension of a file name that a client sent, or `.wav`: only it matters, and only if it looks like one. */
export function safeExtension(fileName: string | undefined): string {
  return /\.[a-z0-9]{1,8}$/.exec((fileName ?? "").trim().toLowerCase())?.[0] ?? ".wav";
}

export function uploadTooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    "BODY_TOO_LARGE",
    `the audio must be at most ${maxBytes} bytes: split it and send it in parts`,
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
    // A body that trickles in is written in blocks: a write costs the same for one byte as for thousands.
    const block = new Uint8Array(WRITE_BYTES);
    let held = 0;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw uploadTooLarge(maxBytes);
      await share.take(chunk.length);
      hash?.update(chunk);
      if (held + chunk.length > block.length) {
        await writeAll(file, block.subarray(0, held));
        held = 0;
      }
      if (chunk.length >= block.length) await writeAll(file, chunk);
      else {
        block.set(chunk, held);
        held += chunk.length;
      }
    }
    await writeAll(file, block.subarray(0, held));
    return bytes;
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let start = 0; start < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, start);
    start += bytesWritten;
  }
}

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
