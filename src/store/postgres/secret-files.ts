import { randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Reads a secret from a file that only its owner can read, or creates the file. Concurrent processes get the
 * same secret.
 */
export async function rememberedSecret(path: string, make: () => string): Promise<string> {
  const known = await readIfPresent(path);
  if (known !== null) return known;
  const draft = await writeDraft(path, make());
  try {
    // Linking is atomic, and never replaces the file of a process that was faster.
    await link(draft, path);
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const agreed = await readIfPresent(path);
  if (agreed === null) throw new Error(`Cannot read ${path}: it is empty or was removed during its creation`);
  return agreed;
}

/** Writes a file atomically, readable only by its owner. */
export async function writeSecret(path: string, text: string): Promise<void> {
  await rename(await writeDraft(path, text), path);
}

/** Reads and trims a file. Null if it is missing or empty. */
export async function readIfPresent(path: string): Promise<string | null> {
  try {
    return (await readFile(path, "utf8")).trim() || null;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

async function writeDraft(path: string, text: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}-${randomBytes(4).toString("hex")}`;
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(`${text}\n`);
    await file.sync();
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return draft;
}
