import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, statfs, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { UnpackedPlace } from "../../core/domain/decoding/unpacked-place.js";
import type { NativeBinding, NativeModel } from "./binding.js";

const TABLES = ".tables";
const DRAFT = ".draft";
/** Kept for as long as they are used: the models of a service, and the one before the last change. */
const MOST_MODELS = 3;
/** Smaller ones are unpacked in less than a tenth of a second. */
const LEAST_BYTES = 8 * 2 ** 20;
/** Writing takes seconds; a draft of this age is one that a killed process has left. */
const DRAFT_IS_LEFT_AFTER_MS = 600_000;

/**
 * Language models as they lie in memory, in a folder, by the hash of the file that they were unpacked from: reading one takes a
 * twentieth of the CPU time of unpacking it. Any number of processes may share the folder: a file gets its name when it is
 * whole, and one that is damaged later is unpacked again. What cannot be kept is unpacked at every start.
 */
export class UnpackedModels {
  readonly #place: UnpackedPlace;
  readonly #leastBytes: number;

  constructor(place: UnpackedPlace, { leastBytes = LEAST_BYTES }: { readonly leastBytes?: number } = {}) {
    this.#place = place;
    this.#leastBytes = leastBytes;
  }

  /** Null when it is not there, or not whole. The caller has checked the file that `key` is the hash of. */
  read(binding: NativeBinding, key: string, vocabularySize: number): NativeModel | null {
    const path = this.#pathOf(key);
    if (!existsSync(path)) return null;
    const model = binding.readTables(key, path, vocabularySize);
    // The time of its last use: what was not used longest makes room. A folder that is read-only needs none.
    if (model !== null) void utimes(path, new Date(), new Date()).catch(() => {});
    return model;
  }

  /** Keeps a model for processes to come, if there is room. Whether it did; never rejects, since nothing depends on it. */
  async write(binding: NativeBinding, key: string, model: NativeModel): Promise<boolean> {
    const draft = join(this.#place.folder, `${key}.${crypto.randomUUID()}${DRAFT}`);
    try {
      if (binding.modelBytes(model) < this.#leastBytes) return false;
      await mkdir(this.#place.folder, { recursive: true, mode: 0o700 });
      // Another thread, or another process, is at it.
      if (await this.#hasDraftOf(key)) return false;
      if (!(await this.#hasRoomFor(binding.modelBytes(model)))) return false;
      await binding.writeTables(model, draft);
      await rename(draft, this.#pathOf(key));
      await this.#removeOldest();
      return true;
    } catch {
      // A disk that is full or read-only: the next start unpacks it again.
      await rm(draft, { force: true }).catch(() => {});
      return false;
    }
  }

  #pathOf(key: string): string {
    return join(this.#place.folder, key + TABLES);
  }

  /** Drafts that a killed process has left go. */
  async #hasDraftOf(key: string): Promise<boolean> {
    let isAtWork = false;
    for (const { path, name, mtimeMs } of await this.#files(DRAFT)) {
      if (Date.now() - mtimeMs > DRAFT_IS_LEFT_AFTER_MS) await rm(path, { force: true });
      else isAtWork ||= name.startsWith(`${key}.`);
    }
    return isAtWork;
  }

  async #hasRoomFor(bytes: number): Promise<boolean> {
    const { folder, leastFreeBytes } = this.#place;
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize - bytes >= leastFreeBytes;
  }

  async #removeOldest(): Promise<void> {
    const models = (await this.#files(TABLES)).toSorted((one, other) => other.mtimeMs - one.mtimeMs);
    for (const { path } of models.slice(MOST_MODELS)) await rm(path, { force: true });
  }

  async #files(ending: string): Promise<{ name: string; path: string; mtimeMs: number }[]> {
    const names = (await readdir(this.#place.folder)).filter((name) => name.endsWith(ending));
    const found = names.map(async (name) => {
      const path = join(this.#place.folder, name);
      // One that another process has just renamed or removed is none any more.
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: null }));
      return mtimeMs === null ? [] : [{ name, path, mtimeMs }];
    });
    return (await Promise.all(found)).flat();
  }
}
