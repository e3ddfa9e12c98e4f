import { statfs } from "node:fs/promises";
import { AddError } from "./add-error.js";

/** Of a disk that is filled to its last byte nothing works any more. */
const LEFT_BYTES = 16 << 20;

/**
 * @param folder on the disk in question; it must be there
 * @throws {AddError} when the disk has no room for so many bytes more
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
