import { statfs } from "node:fs/promises";
import { AddError } from "./add-error.js";

/** Space that stays free, because nothing works on a full disk. */
const LEFT_BYTES = 16 << 20;

/**
 * @param folder an existing folder on the disk
 * @throws {AddError} if the disk has no room for `bytes` more
 */
export async function requireFreeSpace(folder: string, bytes: number): Promise<void> {
  if (bytes <= 0) return;
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= bytes + LEFT_BYTES) return;
  throw new AddError(
    `too little disk space for ${folder}: ${megabytes(bytes)} MB needed, ${megabytes(freeBytes)} MB free`,
  );
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
