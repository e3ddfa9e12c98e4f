import { statfs } from "node:fs/promises";
import { AddError } from "./add-error.js";

/** Space left free, because nothing works on a full disk. */
const LEFT_BYTES = 16 << 20;

/**
 * @param folder an existing one on the disk
 * @throws {AddError} when the disk has too little space for `bytes` more
 */
export async function requireFreeSpace(folder: string, bytes: number): Promise<void> {
  if (bytes <= 0) return;
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= bytes + LEFT_BYTES) return;
  throw new AddError(
    `too little space on the disk of ${folder}: ${megabytes(bytes)} MB are needed, ${megabytes(freeBytes)} MB are free`,
  );
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
