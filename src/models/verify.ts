import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { SealedFolder } from "../../native/models/package.js";
import { packageFiles } from "../../native/models/package-files.js";

export interface FileCheck {
  /** Path within the package. */
  readonly path: string;
  readonly bytes: number;
  readonly isGood: boolean;
  /** Null if the file is intact. */
  readonly fault: string | null;
}

const CHUNK_BYTES = 1 << 20;

/** Checks the hash of every file in a package's manifest, in the order of `packageFiles`. */
export async function verifyPackage(
  { folder, manifest }: SealedFolder,
  onFile: (check: FileCheck) => void = () => {},
): Promise<readonly FileCheck[]> {
  const checks: FileCheck[] = [];
  for (const { path, sha256 } of packageFiles(manifest.files)) {
    const check = await checkFile(folder, path, sha256);
    checks.push(check);
    onFile(check);
  }
  return checks;
}

async function checkFile(folder: string, path: string, sha256: string): Promise<FileCheck> {
  try {
    const found = await hashFile(join(folder, path));
    const isGood = found.sha256 === sha256;
    const fault = isGood ? null : `sha256 must be ${sha256}, found ${found.sha256}`;
    return { path, bytes: found.bytes, isGood, fault };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const fault = code === "ENOENT" ? "is missing" : `cannot be read: ${message}`;
    return { path, bytes: 0, isGood: false, fault };
  }
}

/** Hashes a file. @returns its SHA-256 in hex, and its size */
export async function hashFile(path: string): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    hash.update(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).length;
  }
  return { sha256: hash.digest("hex"), bytes };
}
