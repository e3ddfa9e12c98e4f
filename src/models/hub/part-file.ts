import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open, readFile, rename, rm } from "node:fs/promises";
import { AddError } from "./add-error.js";

const READ_BYTES = 1 << 20;
const FULL = ["ENOSPC", "EDQUOT"];

/**
 * A partly downloaded file, which is hashed as it grows. It outlives the process; opening it hashes the
 * existing bytes again.
 */
export class PartFile {
  readonly #path: string;
  readonly #file: FileHandle;
  #hash: Hash = createHash("sha256");
  #bytes = 0;
  #version: string | null = null;
  #isResumed = false;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  static async open(path: string): Promise<PartFile> {
    const file = await open(path, "a+");
    const part = new PartFile(path, file);
    const chunk = Buffer.allocUnsafe(READ_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, READ_BYTES, part.#bytes);
      if (bytesRead === 0) break;
      part.#hash.update(chunk.subarray(0, bytesRead));
      part.#bytes += bytesRead;
    }
    part.#isResumed = part.#bytes > 0;
    part.#version = await readFile(`${path}.version`, "utf8").catch(() => null);
    return part;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The server's `ETag` for the received bytes; null without one. */
  get version(): string | null {
    return this.#version;
  }

  /** True if some bytes come from an earlier run. */
  get isResumed(): boolean {
    return this.#isResumed;
  }

  get sha256(): string {
    return this.#hash.copy().digest("hex");
  }

  async append(chunk: Uint8Array): Promise<void> {
    await this.#writing(() => this.#file.appendFile(chunk));
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
  }

  /** Drops everything. The next bytes are of `version`. */
  async restart(version: string | null): Promise<void> {
    await this.#writing(async () => {
      await this.#file.truncate(0);
      await rm(`${this.#path}.version`, { force: true });
    });
    this.#hash = createHash("sha256");
    this.#bytes = 0;
    this.#isResumed = false;
    this.#version = null;
    if (version !== null) await this.setVersion(version);
  }

  async setVersion(version: string): Promise<void> {
    await this.#writing(async () => {
      const file = await open(`${this.#path}.version`, "w");
      await file.writeFile(version).finally(() => file.close());
    });
    this.#version = version;
  }

  /** Syncs the file to disk and renames it to `path`. */
  async finish(path: string): Promise<void> {
    await this.#writing(() => this.#file.sync());
    await this.#file.close();
    await rename(this.#path, path);
    await rm(`${this.#path}.version`, { force: true });
  }

  /** Closes the file and keeps its bytes for another attempt. */
  async close(): Promise<void> {
    await this.#file.close().catch(() => {});
  }

  async remove(): Promise<void> {
    await this.close();
    await rm(this.#path, { force: true });
    await rm(`${this.#path}.version`, { force: true });
  }

  async #writing(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const { code = "", message } = error as NodeJS.ErrnoException;
      const reason = FULL.includes(code) ? "no space left on the device" : message;
      throw new AddError(`Cannot write ${this.#path}: ${reason}; the downloaded part is kept`, {
        cause: error,
      });
    }
  }
}
