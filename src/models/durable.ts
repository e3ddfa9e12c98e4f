import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Writes or replaces a file: readers, and a machine that loses power, see the old text or the new one. */
export async function writeDurably(path: string, text: string): Promise<void> {
  // A name with a dot in front is no package's, and nobody else's.
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString("hex")}`);
  try {
    const file = await open(draft, "wx", 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncPath(dirname(path));
}

/** Has the disk keep a file's bytes, or the names in a folder. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
