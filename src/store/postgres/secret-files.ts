import { randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * The secret kept in a file that only its owner can read; made on first use. Processes that ask together agree.
 *
 * @param make gives the secret of a new file
 */
export async function rememberedSecret(path: string, make: () => string): Promise<string> {
  const known = await readIfPresent(path);
  if (known !== null) return known;
  const draft = await writeDraft(path, make());
  try {
    // A link appears whole or not at all, and never replaces the file of a process that was faster.
    await link(draft, path);
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const agreed = await readIfPresent(path);
  if (agreed === null)
    throw new Error(`Cannot read ${path}: it is empty or was removed while it was being made`);
  return agreed;
}

/** Writes or replaces a file that only its owner can read; readers see the old text or the new one, never a part. */
export async function writeSecret(path: string, text: string): Promise<void> {
  await rename(await writeDraft(path, text), path);
}

/** The text of a file without the white space around it; null when there is no file or nothing in it. */
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
    // A disk that is full keeps no half of a secret.
    await rm(draft, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return draft;
}
