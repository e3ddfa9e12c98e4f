import type { Hash } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
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
