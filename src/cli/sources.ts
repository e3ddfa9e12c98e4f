import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, extname, join, relative } from "node:path";
import { AUDIO_EXTENSIONS } from "./audio-file.js";
import { reasonOf } from "./failures.js";

/** One of several recordings to transcribe. */
export interface Recording {
  /** Path or HTTP URL, as given or found. */
  readonly name: string;
  readonly isUrl: boolean;
  /** Path of the recording's results within a result folder, without an extension. */
  readonly place: string;
  /** 0 for a URL. */
  readonly sizeBytes: number;
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
 * Finds the recordings that the arguments specify. A file argument can have any name. Folders are searched
 * recursively for audio extensions, except for hidden files. Links to files are followed; links to folders
 * only if they are arguments. Each file and folder counts once.
 *
 * @throws the signal's reason if it is aborted
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
  /** Real paths, so that two links to the same file count once. */
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
      // Process substitution (`<(command)`) gives a path without a real path.
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
        // The same folder can be given twice, or together with its parent.
        if (this.#isKnown(await realpath(inner))) return;
        const entries = await readdir(inner, { withFileTypes: true });
        const folders = await this.#takeEntries(folder, inner, entries);
        waiting.push(...folders.reverse());
      });
    }
    const looked = `no recordings found (looked for ${AUDIO_EXTENSIONS.slice(0, 8).join(", ")} and others)`;
    if (met() === before) this.failures.push({ name: folder, reason: looked });
  }

  /** @returns the folders among the entries, in order */
  async #takeEntries(root: string, folder: string, entries: readonly Dirent[]): Promise<string[]> {
    const folders: string[] = [];
    for (const entry of entries.toSorted((a, b) => BY_NAME.compare(a.name, b.name))) {
      if (entry.name.startsWith(".")) continue;
      const path = join(folder, entry.name);
      const isLink = entry.isSymbolicLink();
      // A link to a folder can lead anywhere, even to the root of the file system.
      if (isLink && (await isFolder(path))) continue;
      if (entry.isDirectory()) folders.push(path);
      // Pipes are skipped, because reading one could block forever.
      else if ((entry.isFile() || isLink) && AUDIO_EXTENSIONS.includes(extname(entry.name).toLowerCase()))
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

/** Names the results of a URL after its last path segment. */
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
    // The URL contains a stray percent sign.
    return text;
  }
}
