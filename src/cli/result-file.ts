import { randomBytes } from "node:crypto";
import { constants, rmSync } from "node:fs";
import { access, type FileHandle, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { CommandError } from "./command.js";
import { reasonOf } from "./failures.js";

/** What is written, as messages name it: "sound", "transcript". */
type ResultKind = "sound" | "transcript";

/** Parts that are not written: a program that ends at once, since the reader of its output has left, takes them along. */
const unfinished = new Set<string>();
process.on("exit", () => {
  for (const path of unfinished) rmSync(path, { force: true });
});

/** A result that was paid for could not be written where it belongs. */
export class UnwrittenError extends CommandError {}

/**
 * Where something goes that is going to be paid for. Everything about the place is tried before anything is asked for; what
 * still goes wrong afterwards leaves the result somewhere else, and says where.
 */
export class ResultFile {
  readonly #path: string;
  readonly #kind: ResultKind;
  /** Takes the place of `#path` when all is written; null where that is no ordinary file. */
  readonly #partPath: string | null;
  readonly #file: FileHandle | null;

  private constructor(path: string, kind: ResultKind, partPath: string | null, file: FileHandle | null) {
    this.#path = path;
    this.#kind = kind;
    this.#partPath = partPath;
    this.#file = file;
    if (partPath !== null) unfinished.add(partPath);
  }

  /** @throws {CommandError} when the file could not be written */
  static async prepare(path: string, kind: ResultKind): Promise<ResultFile> {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw unwritable(path, error);
    });
    if (found?.isDirectory() === true) throw new CommandError(`Cannot write ${path}: it is a folder`);
    try {
      if (found !== null) await access(path, constants.W_OK);
      // A device or a pipe is written as it is.
      if (found !== null && !found.isFile()) return new ResultFile(path, kind, null, null);
      const target = found === null ? path : await realpath(path);
      // Not longer by its own name: names of 255 bytes must fit.
      const partPath = join(dirname(target), `.dauys-${randomBytes(6).toString("hex")}.part`);
      return new ResultFile(target, kind, partPath, await open(partPath, "wx", found?.mode ?? 0o666));
    } catch (error) {
      const isFolder = (await stat(dirname(path)).catch(() => null))?.isDirectory() === true;
      if ((error as NodeJS.ErrnoException).code === "ENOENT" && !isFolder) {
        throw new CommandError(`Cannot write ${path}: there is no folder ${dirname(path)}`, { cause: error });
      }
      throw unwritable(path, error);
    }
  }

  /** A file is written when all of it is there. */
  async part(_bytes: Uint8Array): Promise<void> {}

  /** Leaves nothing behind, unless it is written. */
  async abandon(): Promise<void> {
    await this.#file?.close().catch(() => {});
    if (this.#partPath === null) return;
    await rm(this.#partPath, { force: true });
    unfinished.delete(this.#partPath);
  }

  /** @throws {UnwrittenError} that names where the result is kept instead */
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

/** Puts what was paid for where there is room. @returns what to tell */
export async function keptElsewhere(
  name: string,
  result: Uint8Array,
  { kind, cause }: { readonly kind: ResultKind; readonly cause: unknown },
): Promise<UnwrittenError> {
  const ending = kind === "sound" ? ".wav" : extname(name) || ".txt";
  const elsewhere = join(tmpdir(), `dauys-${randomBytes(6).toString("hex")}${ending}`);
  const why = `Cannot write ${name}: ${reasonOf(cause)}`;
  try {
    await writeFile(elsewhere, result, { flag: "wx", mode: 0o600 });
    return new UnwrittenError(`${why}; the ${kind} is kept in ${elsewhere}`, { cause });
  } catch (error) {
    await rm(elsewhere, { force: true }).catch(() => {});
    return new UnwrittenError(`${why}; nor in ${elsewhere}: ${reasonOf(error)}`, { cause });
  }
}

function unwritable(path: string, cause: unknown): CommandError {
  return new CommandError(`Cannot write ${path}: ${reasonOf(cause)}`, { cause });
}
