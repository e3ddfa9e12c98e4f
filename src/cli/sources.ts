import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, extname, join, relative } from "node:path";
import { reasonOf } from "./failures.js";
import { SOUND_ENDINGS } from "./sound-endings.js";

/** A recording to be transcribed, one of several. */
export interface Recording {
  /** As it was given or found: a path, or an address of http. */
  readonly name: string;
  readonly isUrl: boolean;
  /** Where its results belong below a folder for results, without their ending. */
  readonly place: string;
  /** 0 for an address. */
  readonly sizeBytes: number;
  /** When the file was changed last; null for an address. */
  readonly modifiedMs: number | null;
}

export interface Failure {
  readonly name: string;
  readonly reason: string;
}

interface Found {
  readonly recordings: readonly Recording[];
  readonly failures: readonly Failure[];
}

const BY_NAME = new Intl.Collator("und", { numeric: true });

export function isUrl(argument: string): boolean {
  return /^https?:\/\//i.test(argument);
}

export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}

/**
 * The recordings that arguments name. A file that is named is taken whatever its name; of a folder all that lie in it and
 * below, by their endings, hidden ones left out. Links to files are followed, links to folders only where they are named
 * themselves; each file and folder is taken once.
 *
 * @throws the signal's reason when it aborts
 */
export async function findRecordings(names: readonly string[], signal: AbortSignal): Promise<Found> {
  const search = new Search(signal);
  for (const name of names) {
    if (isUrl(name)) search.takeUrl(name);
    else if (await isFolder(name)) await search.takeFolder(name);
    else await search.takeFile(name, basename(name));
  }
  return search;
}

class Search implements Found {
  readonly recordings: Recording[] = [];
  readonly failures: Failure[] = [];
  readonly #signal: AbortSignal;
  /** Real paths: what two links lead to is one file. */
  readonly #seen = new Set<string>();
  #repeats = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  takeUrl(url: string): void {
    if (this.#isKnown(url)) return;
    this.recordings.push({ name: url, isUrl: true, place: placeOfUrl(url), sizeBytes: 0, modifiedMs: null });
  }

  async takeFile(path: string, place: string): Promise<void> {
    await this.#try(path, async () => {
      const { size, mtimeMs } = await stat(path);
      // What a shell puts in the place of a command's output has no path of its own.
      if (this.#isKnown(await realpath(path).catch(() => path))) return;
      this.recordings.push({ name: path, isUrl: false, place, sizeBytes: size, modifiedMs: mtimeMs });
    });
  }

  async takeFolder(folder: string): Promise<void> {
    const met = () => this.recordings.length + this.failures.length + this.#repeats;
    const before = met();
    const waiting = [folder];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      this.#signal.throwIfAborted();
      const inner = next;
      await this.#try(inner, async () => {
        // A folder may be named twice, or with one that it lies in.
        if (this.#isKnown(await realpath(inner))) return;
        const entries = await readdir(inner, { withFileTypes: true });
        const folders = await this.#takeEntries(folder, inner, entries);
        waiting.push(...folders.reverse());
      });
    }
    const looked = `no recording is in it: looked for ${SOUND_ENDINGS.slice(0, 8).join(", ")} and others`;
    if (met() === before) this.failures.push({ name: folder, reason: looked });
  }

  /** @returns folders among the entries, in their order */
  async #takeEntries(root: string, folder: string, entries: readonly Dirent[]): Promise<string[]> {
    const folders: string[] = [];
    for (const entry of entries.toSorted((a, b) => BY_NAME.compare(a.name, b.name))) {
      if (entry.name.startsWith(".")) continue;
      const path = join(folder, entry.name);
      const isLink = entry.isSymbolicLink();
      // A link may lead anywhere, to the root of all files too: of those in a folder none is gone down.
      if (isLink && (await isFolder(path))) continue;
      if (entry.isDirectory()) folders.push(path);
      // A pipe that lies there would be waited for.
      else if ((entry.isFile() || isLink) && SOUND_ENDINGS.includes(extname(entry.name).toLowerCase()))
        await this.takeFile(path, relative(root, path));
    }
    return folders;
  }

  #isKnown(place: string): boolean {
    if (this.#seen.has(place)) {
      this.#repeats++;
      return true;
    }
    this.#seen.add(place);
    return false;
  }

  async #try(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.failures.push({ name, reason: reasonOf(error) });
    }
  }
}

/** A name for the results of an address: its last part that says something. */
function placeOfUrl(url: string): string {
  const { pathname, hostname } = new URL(url);
  const last = pathname.split("/").findLast((part) => part !== "") ?? hostname;
  return (
    decoded(last)
      .replace(/[/\\\p{Cc}]/gu, "_")
      .replace(/^\.+/, "_") || hostname
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that encodes nothing.
    return text;
  }
}
