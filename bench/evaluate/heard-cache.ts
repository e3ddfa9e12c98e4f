import { appendFile, mkdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { HeardFile } from "../support/file-listener.js";

/** What was heard of a file, or why nothing was: one line of the cache. */
interface Entry {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
  readonly heard: HeardFile | null;
  readonly failure: string | null;
}

/** What a recogniser has heard so far, in a file of lines, so that a run that was ended goes on where it was. */
export class HeardCache {
  readonly #path: string;
  readonly #entries: Map<string, Entry>;

  private constructor(path: string, entries: readonly Entry[]) {
    this.#path = path;
    this.#entries = new Map(entries.map((entry) => [entry.path, entry]));
  }

  /** @param isFresh forgets what is there */
  static async open(path: string, isFresh: boolean): Promise<HeardCache> {
    await mkdir(dirname(path), { recursive: true });
    if (isFresh) await rm(path, { force: true });
    const text = await readFile(path, "utf8").catch(() => "");
    return new HeardCache(path, text.split("\n").flatMap(entryOf));
  }

  /** As it was heard before, if the file is still the same; else as `hear` says, which is kept. Failures are values. */
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
    // The run ended while it wrote this line.
    return [];
  }
}
