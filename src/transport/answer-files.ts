import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../observe/log.js";
import { KEPT_FOR_MS } from "../ports/idempotency.js";

const EXPIRY_CHECK_MS = 10 * 60_000;
/** What is still being written; an earlier run may have left some. */
const UNFINISHED = ".part";

export interface AnswerFilesOptions {
  /** Made when it is not there. One service uses it at a time. */
  readonly folder: string;
  /** All files together, those being written included. */
  readonly capacityBytes: number;
  readonly log: Log;
}

/** Long bodies of kept answers, one file each: the oldest make room for new ones, and none outlives its key. */
export class AnswerFiles {
  readonly #options: AnswerFilesOptions;
  /** Kept files, oldest first. */
  readonly #kept = new Map<string, { readonly bytes: number; readonly keptAtMs: number }>();
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
      else files.#enter(name, bytes, keptAtMs);
    }
    await files.#removeExpired();
    await files.#makeRoom(0);
    return files;
  }

  /** Begins the file of an answer. */
  async create(id: string): Promise<AnswerFile> {
    const path = this.#path(id) + UNFINISHED;
    const handle = await open(path, "wx", 0o600);
    let bytes = 0;
    const giveBack = () => {
      this.#bytes -= bytes;
      bytes = 0;
    };
    return {
      write: async (chunk) => {
        if (!(await this.#makeRoom(chunk.length))) throw new Error("Cannot keep the answer: no room is left");
        // Counted before it is written: others who make room at the same time must know of it.
        bytes += chunk.length;
        this.#bytes += chunk.length;
        await writeAll(handle, chunk);
      },
      keep: async () => {
        // The row that names this file survives a power cut, so the bytes have to as well.
        await handle.datasync();
        await handle.close();
        await rename(path, this.#path(id));
        const kept = bytes;
        giveBack();
        this.#enter(id, kept, Date.now());
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
    this.#bytes -= file.bytes;
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

  #enter(id: string, bytes: number, keptAtMs: number): void {
    this.#kept.set(id, { bytes, keptAtMs });
    this.#bytes += bytes;
  }

  async #makeRoom(bytes: number): Promise<boolean> {
    for (const id of this.#kept.keys()) {
      if (this.#bytes + bytes <= this.#options.capacityBytes) break;
      await this.remove(id);
    }
    return this.#bytes + bytes <= this.#options.capacityBytes;
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
