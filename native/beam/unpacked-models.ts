import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, statfs, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { UnpackedPlace } from "../../core/domain/decoding/unpacked-place.js";
import type { NativeBinding, NativeModel } from "./binding.js";

const TABLES = ".tables";
const DRAFT = ".draft";
/** Holds a service's current models and those before its last change. */
const MOST_MODELS = 3;
/** Minimum size of a cached model; smaller ones are unpacked in less than 0.1 s. */
const LEAST_BYTES = 8 * 2 ** 20;
/** Age from which a draft belongs to a killed process; writing takes seconds. */
const DRAFT_IS_LEFT_AFTER_MS = 600_000;

/**
 * A cache folder of unpacked language models, by the hash of the packed file: reading one takes a twentieth
 * of the CPU time of unpacking it. Processes may share the folder: a file gets its final name once it is
 * complete, and a damaged one is unpacked again. Without space for the cache, models are unpacked at every
 * start.
 */
export class UnpackedModels {
  readonly #place: UnpackedPlace;
  readonly #leastBytes: number;

  constructor(place: UnpackedPlace, { leastBytes = LEAST_BYTES }: { readonly leastBytes?: number } = {}) {
    this.#place = place;
    this.#leastBytes = leastBytes;
  }

  /** Reads a model; null if missing or incomplete. The caller has checked `key`, the packed file's hash. */
  read(binding: NativeBinding, key: string, vocabularySize: number): NativeModel | null {
    const path = this.#pathOf(key);
    if (!existsSync(path)) return null;
    const model = binding.readTables(key, path, vocabularySize);
    // Record the last use, which determines what is evicted. In a read-only folder, nothing is.
    if (model !== null) void utimes(path, new Date(), new Date()).catch(() => {});
    return model;
  }

  /** Stores a model if there is space. Returns whether it did; never rejects, since nothing depends on it. */
  async write(binding: NativeBinding, key: string, model: NativeModel): Promise<boolean> {
    const draft = join(this.#place.folder, `${key}.${crypto.randomUUID()}${DRAFT}`);
    try {
      if (binding.modelBytes(model) < this.#leastBytes) return false;
      await mkdir(this.#place.folder, { recursive: true, mode: 0o700 });
      // Another thread or process is writing it.
      if (await this.#hasDraftOf(key)) return false;
      if (!(await this.#hasRoomFor(binding.modelBytes(model)))) return false;
      await binding.writeTables(model, draft);
      await rename(draft, this.#pathOf(key));
      await this.#removeOldest();
      return true;
    } catch {
      // The disk is full or read-only: the next start unpacks it again.
      await rm(draft, { force: true }).catch(() => {});
      return false;
    }
  }

  #pathOf(key: string): string {
    return join(this.#place.folder, key + TABLES);
  }

  /** Returns true if a process is writing this model. Deletes the drafts of killed processes. */
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
      // Another process may have renamed or removed it meanwhile.
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: null }));
      return mtimeMs === null ? [] : [{ name, path, mtimeMs }];
    });
    return (await Promise.all(found)).flat();
  }
}
