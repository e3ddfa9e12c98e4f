import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, type FileHandle, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, extname, join } from "node:path";
import { CommandError, UsageError } from "./command.js";
import { reasonOf } from "./failures.js";

/** Endings of sound that is no WAV: a file of that name would lie about what it holds. */
const OTHER_SOUND = [
  ...[
    ".mp3",
    ".m4a",
    ".aac",
    ".mp4",
    ".flac",
    ".ogg",
    ".oga",
    ".opus",
    ".webm",
    ".weba",
    ".wma",
    ".aif",
    ".aiff",
  ],
  ...[
    ".aifc",
    ".caf",
    ".amr",
    ".au",
    ".snd",
    ".pcm",
    ".raw",
    ".mka",
    ".mkv",
    ".mov",
    ".3gp",
    ".m4b",
    ".ac3",
    ".spx",
  ],
];

/**
 * Where sound goes that is going to be paid for. Everything about the place is tried before anything is asked for; what still
 * goes wrong afterwards leaves the sound somewhere else, and says where.
 */
export class SoundFile {
  readonly #path: string;
  /** Takes the place of `#path` when all is written; null where that is no ordinary file. */
  readonly #partPath: string | null;
  readonly #file: FileHandle | null;

  private constructor(path: string, partPath: string | null, file: FileHandle | null) {
    this.#path = path;
    this.#partPath = partPath;
    this.#file = file;
  }

  /**
   * @throws {UsageError} for the name of sound that is no WAV
   * @throws {CommandError} when the file could not be written
   */
  static async prepare(path: string): Promise<SoundFile> {
    requireWavName(path);
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw unwritable(path, error);
    });
    if (found?.isDirectory() === true) throw new CommandError(`Cannot write ${path}: it is a folder`);
    try {
      if (found !== null) await access(path, constants.W_OK);
      // A device or a pipe is written as it is.
      if (found !== null && !found.isFile()) return new SoundFile(path, null, null);
      const target = found === null ? path : await realpath(path);
      const partPath = join(dirname(target), `.${basename(target)}.${randomBytes(4).toString("hex")}.part`);
      return new SoundFile(target, partPath, await open(partPath, "wx", found?.mode ?? 0o666));
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
    if (this.#partPath !== null) await rm(this.#partPath, { force: true });
  }

  /** @throws {CommandError} that names where the sound is kept instead */
  async write(sound: Uint8Array): Promise<void> {
    try {
      if (this.#file === null || this.#partPath === null) return await writeFile(this.#path, sound);
      await this.#file.writeFile(sound);
      await this.#file.close();
      await rename(this.#partPath, this.#path);
    } catch (error) {
      await this.abandon();
      throw await keptElsewhere(this.#path, sound, error);
    }
  }
}

/** Puts sound that was paid for where there is room. @returns what to tell */
export async function keptElsewhere(name: string, sound: Uint8Array, cause: unknown): Promise<CommandError> {
  const elsewhere = join(tmpdir(), `dauys-${randomBytes(6).toString("hex")}.wav`);
  const why = `Cannot write ${name}: ${reasonOf(cause)}`;
  try {
    await writeFile(elsewhere, sound, { flag: "wx", mode: 0o600 });
    return new CommandError(`${why}; the sound is kept in ${elsewhere}`, { cause });
  } catch (error) {
    await rm(elsewhere, { force: true }).catch(() => {});
    return new CommandError(`${why}; nor in ${elsewhere}: ${reasonOf(error)}`, { cause });
  }
}

function requireWavName(path: string): void {
  const ending = extname(path);
  if (!OTHER_SOUND.includes(ending.toLowerCase())) return;
  const wav = `${path.slice(0, -ending.length)}.wav`;
  const convert = `ffmpeg -i ${JSON.stringify(wav)} ${JSON.stringify(path)}`;
  throw new UsageError(`the sound is a WAV, not ${ending}: say -o ${wav}, then ${convert}`);
}

function unwritable(path: string, cause: unknown): CommandError {
  return new CommandError(`Cannot write ${path}: ${reasonOf(cause)}`, { cause });
}
