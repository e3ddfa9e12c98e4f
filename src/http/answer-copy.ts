import type { Log } from "../../core/observe/log.js";
import type { Headers } from "../../core/ports/front.js";
import type { Attempt } from "../../core/ports/idempotency.js";
import type { AnswerFile, AnswerFiles } from "./answer-files.js";
import type { AnswerListener } from "./exchange.js";

/** A body up to this length lies in the database with its key, where every service finds it. */
const SHORT_BODY_BYTES = 64 * 1024;

/** Copies an answer as it leaves, and keeps the copy when the answer is complete. In memory is a short body at most. */
export class AnswerCopy implements AnswerListener {
  readonly #requestId: string;
  readonly #organizationId: string;
  readonly #attempt: Attempt;
  readonly #files: AnswerFiles;
  readonly #log: Log;
  #head: { readonly status: number; readonly headers: Headers } | null = null;
  #short: Uint8Array[] = [];
  #file: AnswerFile | null = null;
  #bytes = 0;
  #isKept = false;

  constructor(parts: {
    requestId: string;
    /** Whose answer it is. */
    organizationId?: string;
    attempt: Attempt;
    files: AnswerFiles;
    log: Log;
  }) {
    this.#requestId = parts.requestId;
    this.#organizationId = parts.organizationId ?? "";
    this.#attempt = parts.attempt;
    this.#files = parts.files;
    this.#log = parts.log;
  }

  started(status: number, headers: Headers): void {
    // Errors are not kept: the same request may be tried again.
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
      this.#isKept = await this.#attempt.answered({ ...this.#head, bytes: this.#bytes, body });
      if (!this.#isKept) await this.#files.remove(this.#requestId);
    } catch (error) {
      await this.#giveUp(error);
    }
  }

  /** The attempt has come to its end, with or without an answer. */
  async ended(): Promise<void> {
    this.#head = null;
    await this.#file?.discard();
    this.#file = null;
    if (!this.#isKept) await this.#attempt.over();
  }

  async #spill(chunk: Uint8Array): Promise<void> {
    this.#file ??= await this.#files.create(this.#requestId, this.#organizationId);
    for (const earlier of this.#short.splice(0)) await this.#file.write(earlier);
    await this.#file.write(chunk);
  }

  /** A copy that cannot be made is no reason to fail the answer: a replay will be made again, and not charged. */
  async #giveUp(error: unknown): Promise<void> {
    this.#log.warn({ err: error }, "answer not kept");
    this.#head = null;
    this.#short = [];
    await this.#file?.discard().catch(() => {});
    this.#file = null;
  }
}
