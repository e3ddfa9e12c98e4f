import type { ServerResponse } from "node:http";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Departure, FrontResponse, Headers, ReaderPace } from "../../../core/ports/front.js";
import { PacedReader } from "../shared/rate-limits.js";

export interface NodeAnswerOptions {
  readonly closesConnection: () => boolean;
  readonly stallMs: number;
  readonly readerPace: ReaderPace;
}

export class NodeAnswer implements FrontResponse {
  readonly #res: ServerResponse;
  readonly #options: NodeAnswerOptions;
  readonly #reader: PacedReader;
  #hasStarted = false;

  constructor(res: ServerResponse, options: NodeAnswerOptions) {
    this.#res = res;
    this.#options = options;
    this.#reader = new PacedReader(options.readerPace);
  }

  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  get isOver(): boolean {
    return this.#res.writableEnded || this.#res.destroyed;
  }

  start(status: number, headers: Headers): void {
    if (this.#hasStarted) throw new Error("Cannot start a response twice");
    this.#hasStarted = true;
    this.#res.statusCode = status;
    for (const [name, value] of Object.entries(headers)) this.#res.setHeader(name, value);
    if (this.#options.closesConnection()) this.#res.shouldKeepAlive = false;
  }

  async write(chunk: Uint8Array, departure?: Departure): Promise<void> {
    this.#assertLive();
    if (chunk.length === 0 || this.#res.req.method === "HEAD") return;
    departure?.leaving();
    if (this.#res.write(chunk)) return this.#reader.took(chunk.length);
    // `write` also returns false for a chunk above the high-water mark that was sent immediately.
    const isKept = (this.#res.socket?.writableLength ?? 0) > 0;
    if (isKept) departure?.held();
    await this.#drained();
    if (isKept) departure?.leaving();
    this.#reader.took(chunk.length);
  }

  async end(chunk?: Uint8Array, departure?: Departure): Promise<void> {
    this.#assertLive();
    if (!this.#hasStarted) throw new Error("Cannot end a response before it was started");
    const bytes = chunk?.length ?? 0;
    const isSized = this.#res.headersSent || this.#res.hasHeader("content-length");
    const hasNoLength = this.#res.statusCode === 204 || this.#res.statusCode === 304;
    if (!isSized && !hasNoLength) this.#res.setHeader("content-length", bytes);
    // Use `write`, which notices if the reader stalls.
    if (chunk !== undefined && bytes > 0) await this.write(chunk, departure);
    this.#assertLive();
    this.#res.end();
  }

  reset(): void {
    this.#res.destroy();
  }

  #drained(): Promise<void> {
    const res = this.#res;
    const sinceMs = performance.now();
    const limitMs = Math.min(this.#options.stallMs, this.#reader.leftMs);
    return new Promise((resolve, reject) => {
      const stalled = setTimeout(() => res.destroy(), limitMs);
      const settle = () => {
        this.#reader.waited(performance.now() - sinceMs);
        clearTimeout(stalled);
        res.off("drain", settle);
        res.off("close", settle);
        if (res.destroyed) reject(gone());
        else resolve();
      };
      res.on("drain", settle);
      res.on("close", settle);
    });
  }

  #assertLive(): void {
    if (this.isOver) throw gone();
  }
}

function gone(): ServiceError {
  return new ServiceError("CANCELLED", "the client is gone");
}
