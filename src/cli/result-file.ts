import { randomBytes } from "node:crypto";
import { constants, rmSync } from "node:fs";
import { access, type FileHandle, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { CommandError } from "./command.js";
import { reasonOf } from "./failures.js";

type ResultKind = "sound" | "transcript";

/** Temporary files. They are deleted even if the program exits immediately because its reader has left. */
const unfinished = new Set<string>();
process.on("exit", () => {
  for (const path of unfinished) rmSync(path, { force: true });
});

/** Thrown when a charged result could not be written to its destination. */
export class UnwrittenError extends CommandError {}

/**
 * The destination of a charged result. It is opened before the request is sent. If writing fails later, the
 * result is saved elsewhere, and the error says where.
 */
export class ResultFile {
  readonly #path: string;
  readonly #kind: ResultKind;
  /** Temporary file, renamed to `#path` when complete; null if that is not a regular file. */
  readonly #partPath: string | null;
  readonly #file: FileHandle | null;

  private constructor(path: string, kind: ResultKind, partPath: string | null, file: FileHandle | null) {
    this.#path = path;
    this.#kind = kind;
    this.#partPath = partPath;
    this.#file = file;
    if (partPath !== null) unfinished.add(partPath);
  }

  /** @throws {CommandError} if the file cannot be written */
  static async prepare(path: string, kind: ResultKind): Promise<ResultFile> {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw unwritable(path, error);
    });
    if (found?.isDirectory() === true) throw new CommandError(`cannot write ${path}: it is a folder`);
    try {
      if (found !== null) await access(path, constants.W_OK);
      // Devices and pipes are written directly.
      if (found !== null && !found.isFile()) return new ResultFile(path, kind, null, null);
      const target = found === null ? path : await realpath(path);
      // A fixed short name: one derived from a name of 255 bytes would be too long.
      const partPath = join(dirname(target), `.dauys-${randomBytes(6).toString("hex")}.part`);
      return new ResultFile(target, kind, partPath, await open(partPath, "wx", found?.mode ?? 0o666));
    } catch (error) {
      const isFolder = (await stat(dirname(path)).catch(() => null))?.isDirectory() === true;
      if ((error as NodeJS.ErrnoException).code === "ENOENT" && !isFolder) {
        throw new CommandError(`cannot write ${path}: no such folder: ${dirname(path)}`, { cause: error });
      }
      throw unwritable(path, error);
    }
  }

  /** Ignores parts: the file is written when the result is complete. */
  async part(_bytes: Uint8Array): Promise<void> {}

  async abandon(): Promise<void> {
    await this.#file?.close().catch(() => {});
    if (this.#partPath === null) return;
    await rm(this.#partPath, { force: true });
    unfinished.delete(this.#partPath);
  }

  /** @throws {UnwrittenError} with the place where the result was saved instead */
  async write(result: Uint8Array): Promise<void> {
    try {
      if (this.#file === null || this.#partPath === null) return await writeFile(this.#path, result);
      await this.#file.writeFile(result);
      await this.#file.close();
      await rename(this.#partPath, this.#path);
    } catch (error) {
      await this.abandon();
      throw await keptElsewhere(this.#path, result, { kind: this.#kind, cause: error });
    }
  }
}

/** Saves a charged result to the temporary folder. @returns the error to report */
export async function keptElsewhere(
  name: string,
  result: Uint8Array,
  { kind, cause }: { readonly kind: ResultKind; readonly cause: unknown },
): Promise<UnwrittenError> {
  const ending = kind === "sound" ? ".wav" : extname(name) || ".txt";
  const elsewhere = join(tmpdir(), `dauys-${randomBytes(6).toString("hex")}${ending}`);
  const why = `cannot write ${name}: ${reasonOf(cause)}`;
  try {
    await writeFile(elsewhere, result, { flag: "wx", mode: 0o600 });
    return new UnwrittenError(`${why}; the ${kind} was saved to ${elsewhere}`, { cause });
  } catch (error) {
    await rm(elsewhere, { force: true }).catch(() => {});
    return new UnwrittenError(`${why}; saving it to ${elsewhere} failed too: ${reasonOf(error)}`, { cause });
  }
}

function unwritable(path: string, cause: unknown): CommandError {
  return new CommandError(`cannot write ${path}: ${reasonOf(cause)}`, { cause });
}
