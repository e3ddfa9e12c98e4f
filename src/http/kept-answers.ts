import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../core/observe/log.js";
import type { Headers } from "../../core/ports/front.js";
import { type Attempt, KEPT_FOR_MS } from "../../core/ports/idempotency.js";
import type { AnswerListener } from "./exchange.js";
import type { DiskSpace } from "./spool.js";

/** Bodies up to this length are stored in the database with their key, where every service finds them. */
const SHORT_BODY_BYTES = 64 * 1024;

export interface AnswerCopyParts {
  readonly requestId: string;
  readonly organizationId?: string;
  readonly attempt: Attempt;
  readonly files: AnswerFiles;
  readonly log: Log;
}

/**
 * Copies a response as it is sent, and stores the copy if the response completes. Memory holds at most a
 * short body.
 */
export class AnswerCopy implements AnswerListener {
  readonly #parts: AnswerCopyParts;
  #head: { readonly status: number; readonly headers: Headers } | null = null;
  #short: Uint8Array[] = [];
  #file: AnswerFile | null = null;
  #bytes = 0;
  #isKept = false;

  constructor(parts: AnswerCopyParts) {
    this.#parts = parts;
  }

  started(status: number, headers: Headers): void {
    // Errors are not stored, because the client may retry the request.
    if (status >= 200 && status < 300) this.#head = { status, headers };
  }

  async written(chunk: Uint8Array): Promise<void> {
    if (this.#head === null) return;
    try {
      this.#bytes += chunk.length;
      if (this.#file === null && this.#bytes <= SHORT_BODY_BYTES) this.#short.push(chunk);
      else await this.#spill(chunk);
    } catch (error) {
      await this.#giveUp(error);
    }
  }

  async completed(): Promise<void> {
    if (this.#head === null) return;
    try {
      const body = this.#file === null ? Buffer.concat(this.#short) : null;
      await this.#file?.keep();
      this.#file = null;
      const { attempt, files, requestId } = this.#parts;
      this.#isKept = await attempt.answered({ ...this.#head, bytes: this.#bytes, body });
      if (!this.#isKept) await files.remove(requestId);
    } catch (error) {
      await this.#giveUp(error);
    }
  }

  /** Ends the attempt, with or without a stored response. */
  async ended(): Promise<void> {
    this.#head = null;
    await this.#file?.discard();
    this.#file = null;
    if (!this.#isKept) await this.#parts.attempt.over();
  }

  async #spill(chunk: Uint8Array): Promise<void> {
    const { files, requestId, organizationId } = this.#parts;
    this.#file ??= await files.create(requestId, organizationId);
    for (const earlier of this.#short.splice(0)) await this.#file.write(earlier);
    await this.#file.write(chunk);
  }

  /** A failed copy must not fail the response: a retry then repeats the work without a charge. */
  async #giveUp(error: unknown): Promise<void> {
    this.#parts.log.warn({ err: error }, "response not stored");
    this.#head = null;
    this.#short = [];
    await this.#file?.discard().catch(() => {});
    this.#file = null;
  }
}

const EXPIRY_CHECK_MS = 10 * 60_000;
/** Number of owners that share the capacity at least: each gets at most this fraction of it. */
const OWNERS_AT_LEAST = 2;
/** Suffix of files that are being written. A crash may leave such files. */
const UNFINISHED = ".part";

export interface AnswerFilesOptions {
  /** Folder for the files, created if missing. Only one service uses it at a time. */
  readonly folder: string;
  /** Limit for all files together, including unfinished ones. */
  readonly capacityBytes: number;
  /** Owners of files from an earlier run, by ID. */
  readonly owners?: ReadonlyMap<string, string>;
  /** The disk that contains the folder. If it is short of space, the oldest files are deleted. */
  readonly disk?: DiskSpace;
  readonly log: Log;
}

interface KeptFile {
  readonly bytes: number;
  readonly keptAtMs: number;
  readonly owner: string;
}

/**
 * Stores the long bodies of responses, one file each, until their keys expire or newer ones need the space.
 * An owner gets at most half of the capacity. If all of it is used, the owner with the most data loses its
 * oldest file, so nobody can evict the files of smaller owners.
 */
export class AnswerFiles {
  readonly #options: AnswerFilesOptions;
  /** The stored files, oldest first. */
  readonly #kept = new Map<string, KeptFile>();
  /** Bytes by owner, including unfinished files. */
  readonly #bytesOf = new Map<string, number>();
  readonly #expiry: NodeJS.Timeout;
  #bytes = 0;

  private constructor(options: AnswerFilesOptions) {
    this.#options = options;
    this.#expiry = setInterval(() => void this.#removeExpired(), EXPIRY_CHECK_MS).unref();
  }

  static async open(options: AnswerFilesOptions): Promise<AnswerFiles> {
    const files = new AnswerFiles(options);
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    for (const { name, bytes, keptAtMs } of await listByAge(options.folder)) {
      if (name.endsWith(UNFINISHED)) await rm(join(options.folder, name), { force: true });
      else files.#enter(name, { bytes, keptAtMs, owner: options.owners?.get(name) ?? "" });
    }
    await files.#removeExpired();
    for (const owner of [...files.#bytesOf.keys()]) await files.#makeRoom(0, owner);
    options.disk?.reclaimFrom((bytes) => files.#giveBack(bytes));
    return files;
  }

  /** @param owner files without an owner share the whole capacity */
  async create(id: string, owner = ""): Promise<AnswerFile> {
    const path = this.#path(id) + UNFINISHED;
    const handle = await open(path, "wx", 0o600);
    let bytes = 0;
    const release = () => {
      this.#count(owner, -bytes);
      bytes = 0;
    };
    return {
      write: async (chunk) => {
        if (!(await this.#makeRoom(chunk.length, owner)))
          throw new Error("Cannot keep the response: no room is left");
        if ((await this.#options.disk?.hasRoomFor(chunk.length)) === false)
          throw new Error("Cannot keep the response: the disk is short of free space");
        this.#options.disk?.wrote(chunk.length);
        // Count before writing, so that concurrent calls of `#makeRoom` see it.
        bytes += chunk.length;
        this.#count(owner, chunk.length);
        await handle.writeFile(chunk);
      },
      keep: async () => {
        // The database row for this file survives a power cut, so its bytes must, too.
        await handle.datasync();
        await handle.close();
        await rename(path, this.#path(id));
        const kept = bytes;
        release();
        this.#enter(id, { bytes: kept, keptAtMs: Date.now(), owner });
      },
      discard: async () => {
        release();
        await handle.close().catch(() => {});
        await rm(path, { force: true });
      },
    };
  }

  /** Opens the body stored under `id`; null if it is missing or does not have `bytes` bytes. */
  async read(id: string, bytes: number): Promise<AsyncIterable<Uint8Array> | null> {
    if (this.#kept.get(id)?.bytes !== bytes) return null;
    const handle = await open(this.#path(id), "r").catch(() => null);
    if (handle === null) return null;
    // An open file stays readable after it is deleted. The stream closes it in every case.
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
      this.#options.log.warn({ err: error }, "stored response not deleted");
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

  /**
   * Deletes finished files until `bytes` bytes are free or none is left. @returns the number of bytes deleted
   */
  async #giveBack(bytes: number): Promise<number> {
    let freed = 0;
    while (freed < bytes) {
      const oldest = this.#oldestOfLargest();
      if (oldest === undefined) break;
      freed += this.#kept.get(oldest)?.bytes ?? 0;
      await this.remove(oldest);
    }
    return freed;
  }

  #oldestOf(owner: string): string | undefined {
    for (const [id, file] of this.#kept) if (file.owner === owner) return id;
    return undefined;
  }

  /** Returns the oldest finished file of the owner with the most data that has one. */
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

export interface AnswerFile {
  /** @throws if there is no room, or the disk fails */
  write(chunk: Uint8Array): Promise<void>;
  /** Makes the file readable under its ID. */
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
