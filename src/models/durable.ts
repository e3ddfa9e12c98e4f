import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Writes a file atomically, even across a power failure. */
export async function writeDurably(path: string, text: string): Promise<void> {
  // Readers of packages skip names that start with a dot.
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

/** Syncs a file's bytes, or a folder's names, to disk. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
