import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../core/observe/log.js";
import { KEPT_FOR_MS } from "../../core/ports/idempotency.js";
import type { DiskSpace } from "./spool.js";

const EXPIRY_CHECK_MS = 10 * 60_000;
/** The room is for so many organizations, even if only one uses it. */
const OWNERS_AT_LEAST = 2;
/** What is still being written; an earlier run may have left some. */
const UNFINISHED = ".part";

export interface AnswerFilesOptions {
  /** Made when it is not there. One service uses it at a time. */
  readonly folder: string;
  /** All files together, those being written included. */
  readonly capacityBytes: number;
  /** Whose the files are that an earlier run has left, by their ids. */
  readonly owners?: ReadonlyMap<string, string>;
  /** The disk that holds the folder; when it is short nothing more is kept. */
  readonly disk?: DiskSpace;
  readonly log: Log;
}

interface KeptFile {
  readonly bytes: number;
  readonly keptAtMs: number;
  readonly owner: string;
}

/**
 * Long bodies of kept answers, one file each: the oldest make room for new ones, and none outlives its key. An owner has
 * half of the room at most, and when all of it is taken the owner with most gives way: none pushes out what others with
 * less have kept.
 */
export class AnswerFiles {
  readonly #options: AnswerFilesOptions;
  /** Kept files, oldest first. */
  readonly #kept = new Map<string, KeptFile>();
  /** By owner, files that are being written included. */
  readonly #bytesOf = new Map<string, number>();
  readonly #expiry: NodeJS.Timeout;
  #bytes = 0;

  private constructor(options: AnswerFilesOptions) {
    this.#options = options;
    this.#expiry = setInterval(() => void this.#removeExpired(), EXPIRY_CHECK_MS).unref();
  }

  /** Takes over what an earlier run has kept. */
  static async open(options: AnswerFilesOptions): Promise<AnswerFiles> {
    const files = new AnswerFiles(options);
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    for (const { name, bytes, keptAtMs } of await listByAge(options.folder)) {
      if (name.endsWith(UNFINISHED)) await rm(join(options.folder, name), { force: true });
      else files.#enter(name, { bytes, keptAtMs, owner: options.owners?.get(name) ?? "" });
    }
    await files.#removeExpired();
    for (const owner of [...files.#bytesOf.keys()]) await files.#makeRoom(0, owner);
    return files;
  }

  /**
   * Begins the file of an answer.
   *
   * @param owner whose room it takes; without one it shares what is there with all others
   */
  async create(id: string, owner = ""): Promise<AnswerFile> {
    const path = this.#path(id) + UNFINISHED;
    const handle = await open(path, "wx", 0o600);
    let bytes = 0;
    const giveBack = () => {
      this.#count(owner, -bytes);
      bytes = 0;
    };
    return {
      write: async (chunk) => {
        if (!(await this.#makeRoom(chunk.length, owner)))
          throw new Error("Cannot keep the answer: no room is left");
        if ((await this.#options.disk?.hasRoomFor(chunk.length)) === false)
          throw new Error("Cannot keep the answer: the disk is short of free space");
        this.#options.disk?.wrote(chunk.length);
        // Counted before it is written: others who make room at the same time must know of it.
        bytes += chunk.length;
        this.#count(owner, chunk.length);
        await writeAll(handle, chunk);
      },
      keep: async () => {
        // The row that names this file survives a power cut, so the bytes have to as well.
        await handle.datasync();
        await handle.close();
        await rename(path, this.#path(id));
        const kept = bytes;
        giveBack();
        this.#enter(id, { bytes: kept, keptAtMs: Date.now(), owner });
      },
      discard: async () => {
        giveBack();
        await handle.close().catch(() => {});
        await rm(path, { force: true });
      },
    };
  }

  /** The body that was kept under `id`; null when it is gone, or not the one of `bytes` that is meant. */
  async read(id: string, bytes: number): Promise<AsyncIterable<Uint8Array> | null> {
    if (this.#kept.get(id)?.bytes !== bytes) return null;
    const handle = await open(this.#path(id), "r").catch(() => null);
    if (handle === null) return null;
    // Open, it stays readable even when it is removed meanwhile. The stream closes it in every ending.
    if ((await handle.stat()).size === bytes) return createReadStream("", { fd: handle });
    await handle.close();
    return null;
  }

  async remove(id: string): Promise<void> {
    const file = this.#kept.get(id);
    if (file === undefined) return;
    this.#kept.delete(id);
    this.#count(file.owner, -file.bytes);
    await rm(this.#path(id), { force: true }).catch((error: unknown) => {
      this.#options.log.warn({ err: error }, "kept answer not removed");
    });
  }

  close(): void {
    clearInterval(this.#expiry);
  }

  #path(id: string): string {
    return join(this.#options.folder, id);
  }

  #enter(id: string, file: KeptFile): void {
    this.#kept.set(id, file);
    this.#count(file.owner, file.bytes);
  }

  #count(owner: string, bytes: number): void {
    this.#bytes += bytes;
    const left = (this.#bytesOf.get(owner) ?? 0) + bytes;
    if (left === 0) this.#bytesOf.delete(owner);
    else this.#bytesOf.set(owner, left);
  }

  async #makeRoom(bytes: number, owner: string): Promise<boolean> {
    const { capacityBytes } = this.#options;
    const shareBytes = owner === "" ? capacityBytes : capacityBytes / OWNERS_AT_LEAST;
    for (;;) {
      const isShareTaken = (this.#bytesOf.get(owner) ?? 0) + bytes > shareBytes;
      if (!isShareTaken && this.#bytes + bytes <= capacityBytes) return true;
      const oldest = isShareTaken ? this.#oldestOf(owner) : this.#oldestOfLargest();
      if (oldest === undefined) return false;
      await this.remove(oldest);
    }
  }

  #oldestOf(owner: string): string | undefined {
    for (const [id, file] of this.#kept) if (file.owner === owner) return id;
    return undefined;
  }

  /** The oldest file of the owner with most, of those with a file that can go. */
  #oldestOfLargest(): string | undefined {
    const byBytes = [...this.#bytesOf].sort(([, some], [, others]) => others - some);
    for (const [owner] of byBytes) {
      const oldest = this.#oldestOf(owner);
      if (oldest !== undefined) return oldest;
    }
    return undefined;
  }

  async #removeExpired(): Promise<void> {
    const latestMs = Date.now() - KEPT_FOR_MS;
    for (const [id, { keptAtMs }] of this.#kept) if (keptAtMs < latestMs) await this.remove(id);
  }
}

/** An answer's file that is being written. */
export interface AnswerFile {
  /** @throws when there is no room, or the disk fails */
  write(chunk: Uint8Array): Promise<void>;
  /** Makes it readable under its id. */
  keep(): Promise<void>;
  discard(): Promise<void>;
}

async function listByAge(folder: string) {
  const files = [];
  for (const name of await readdir(folder)) {
    const { size: bytes, mtimeMs: keptAtMs } = await stat(join(folder, name));
    files.push({ name, bytes, keptAtMs });
  }
  return files.sort((a, b) => a.keptAtMs - b.keptAtMs);
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let start = 0; start < chunk.length; ) {
    const { bytesWritten } = await handle.write(chunk, start);
    start += bytesWritten;
  }
}
