import type { Log } from "../../core/observe/log.js";
import type { Headers } from "../../core/ports/front.js";
import type { Attempt } from "../../core/ports/idempotency.js";
import type { AnswerFile, AnswerFiles } from "./answer-files.js";
import type { AnswerListener } from "./exchange.js";

/** Bodies up to this length are stored in the database with their key, where every service finds them. */
const SHORT_BODY_BYTES = 64 * 1024;

/** Copies a response as it is sent, and keeps the copy if it completes. Memory holds at most a short body. */
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
    // Errors are not kept: the client may retry the request.
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

  /** Ends the attempt, with or without a response. */
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

  /** A failed copy must not fail the response: a retry repeats the work without a charge. */
  async #giveUp(error: unknown): Promise<void> {
    this.#log.warn({ err: error }, "answer not kept");
    this.#head = null;
    this.#short = [];
    await this.#file?.discard().catch(() => {});
    this.#file = null;
  }
}
