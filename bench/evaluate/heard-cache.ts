import { appendFile, mkdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { HeardFile } from "../support/file-listener.js";

/** The transcript of a file, or its failure: one line of the cache. */
interface Entry {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
  readonly heard: HeardFile | null;
  readonly failure: string | null;
}

/** A recogniser's results so far, one per line, so that an interrupted run can continue. */
export class HeardCache {
  readonly #path: string;
  readonly #entries: Map<string, Entry>;

  private constructor(path: string, entries: readonly Entry[]) {
    this.#path = path;
    this.#entries = new Map(entries.map((entry) => [entry.path, entry]));
  }

  /** @param isFresh whether to discard existing results */
  static async open(path: string, isFresh: boolean): Promise<HeardCache> {
    await mkdir(dirname(path), { recursive: true });
    if (isFresh) await rm(path, { force: true });
    const text = await readFile(path, "utf8").catch(() => "");
    return new HeardCache(path, text.split("\n").flatMap(entryOf));
  }

  /**
   * Returns the cached result if the file is unchanged; otherwise calls `hear` and caches its result.
   * Failures are values.
   */
  async get(
    path: string,
    hear: () => Promise<HeardFile>,
  ): Promise<{
    readonly heard: HeardFile | null;
    readonly failure: string | null;
    readonly isKnown: boolean;
  }> {
    const file = resolve(path);
    const { size: bytes, mtimeMs: modifiedMs } = await stat(file);
    const known = this.#entries.get(file);
    if (known?.bytes === bytes && known.modifiedMs === modifiedMs) return { ...known, isKnown: true };
    const result = await hear().then(
      (heard) => ({ heard, failure: null }),
      (error: unknown) => ({ heard: null, failure: (error as Error).message }),
    );
    const entry = { path: file, bytes, modifiedMs, ...result };
    this.#entries.set(file, entry);
    await appendFile(this.#path, `${JSON.stringify(entry)}\n`);
    return { ...result, isKnown: false };
  }
}

function entryOf(line: string): Entry[] {
  try {
    return line === "" ? [] : [JSON.parse(line) as Entry];
  } catch {
    // An earlier run ended while writing this line.
    return [];
  }
}
