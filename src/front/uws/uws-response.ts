import { STATUS_CODES } from "node:http";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Departure, FrontResponse, Headers, ReaderPace } from "../../../core/ports/front.js";
import type { BodySource } from "../shared/body-queue.js";
import { type FloodWatch, PacedReader } from "../shared/rate-limits.js";
import type { UwsResponse } from "./uws-binding.js";

/** The size of the pieces of a chunked body, small so that the library buffers little for a slow reader. */
const PIECE_BYTES = 64 * 1024;
/** Interval at which a stalled write is retried and the library's own 10 s timer is reset. */
const REWIND_MS = 4_000;
const EMPTY = new Uint8Array(0);
/** Time for a client that is still uploading to read a complete response. */
const LINGER_MS = 5_000;
/** The same, for a client whose body is rejected for its tiny chunks. */
const REFUSED_LINGER_MS = 500;
const SMALL_PIECE_BYTES = 256;
/** Once the response has ended, a client is disconnected after this many small pieces of its body. */
const MOST_SMALL_PIECES = 1_000;

export interface UwsAnswerOptions {
  readonly isHead: boolean;
  readonly closesConnection: boolean;
  readonly stallMs: number;
  readonly readerPace: ReaderPace;
  readonly reading: UwsReading;
  /** Whether the body was rejected for its tiny chunks. */
  readonly isBodyRefused: () => boolean;
  /** Called once, however the response ends. */
  readonly onOver: () => void;
}

/** Length of the body in bytes, or `chunked`. */
type Framing = number | "chunked";

/** A response over uWebSockets.js. It drops the native object as soon as that becomes invalid. */
export class UwsAnswer implements FrontResponse {
  readonly #options: UwsAnswerOptions;
  readonly #reader: PacedReader;
  #res: UwsResponse | null;
  #head: { readonly status: number; readonly headers: Headers } | null = null;
  #isHeadSent = false;
  #framing: Framing | null = null;
  #wake: (() => void) | null = null;
  #listensToWritable = false;
  /** Number of small pieces of the body that arrived after the response ended. */
  #smallPieces = 0;
  /** The connection, if the response ended before the request's body did. */
  #lingering: { readonly res: UwsResponse; readonly timer: NodeJS.Timeout } | null = null;

  constructor(res: UwsResponse, options: UwsAnswerOptions) {
    this.#res = res;
    this.#options = options;
    this.#reader = new PacedReader(options.readerPace);
  }

  get hasStarted(): boolean {
    return this.#head !== null;
  }

  get isOver(): boolean {
    return this.#res === null;
  }

  start(status: number, headers: Headers): void {
    if (this.#head !== null) throw new Error("Cannot start a response twice");
    this.#head = { status, headers };
    const length = headers["content-length"];
    if (length !== undefined) this.#framing = Number(length);
  }

  async write(chunk: Uint8Array, departure?: Departure): Promise<void> {
    this.#live();
    if (chunk.length === 0 || this.#options.isHead) return;
    this.#framing ??= "chunked";
    if (typeof this.#framing === "number") return this.#writeSized(chunk, this.#framing, departure);
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      const piece = chunk.subarray(start, start + PIECE_BYTES);
      const isLast = start + PIECE_BYTES >= chunk.length;
      const res = this.#live();
      let isTaken = true;
      if (isLast) departure?.leaving();
      res.cork(() => {
        this.#sendHead(res);
        isTaken = res.write(piece);
      });
      if (!isTaken) {
        if (isLast) departure?.held();
        await this.#drained();
        if (isLast) departure?.leaving();
      }
      this.#reader.took(piece.length);
    }
  }

  async end(chunk: Uint8Array = EMPTY, departure?: Departure): Promise<void> {
    const res = this.#live();
    if (this.#head === null) throw new Error("Cannot end a response before it was started");
    this.#framing ??= chunk.length;
    // A long response takes the usual path, because its reader needs time and the upload waits.
    const isShort = this.#options.isHead || chunk.length <= PIECE_BYTES;
    if (!this.#options.reading.isComplete && !this.#isHeadSent && isShort) {
      departure?.leaving();
      return this.#endEarly(res, chunk, this.#framing);
    }
    if (this.#options.isHead) {
      this.#over();
      return this.#endEmpty(res, this.#framing);
    }
    if (this.#closesConnection && !this.#isHeadSent) {
      departure?.leaving();
      this.#over();
      // A single write, because `tryEnd` cannot close the connection.
      res.cork(() => {
        this.#sendHead(res);
        res.end(chunk, true);
      });
      return;
    }
    if (this.#framing !== "chunked" && this.#framing > 0) {
      if (chunk.length > 0) await this.#writeSized(chunk, this.#framing, departure);
      if (this.#res !== null)
        throw new Error("Cannot end a response before its whole content-length was written");
      return;
    }
    if (chunk.length > 0) await this.write(chunk, departure);
    const last = this.#live();
    this.#options.reading.pause();
    this.#over();
    if (this.#framing !== "chunked") return this.#endEmpty(last, 0);
    last.cork(() => {
      this.#sendHead(last);
      last.end(undefined, this.#closesConnection);
    });
  }

  reset(): void {
    const res = this.#res;
    if (res === null) return;
    this.#over();
    res.close();
  }

  /** Called when the client has left; from then on the native object must not be used. */
  aborted(): void {
    if (this.#lingering !== null) clearTimeout(this.#lingering.timer);
    this.#lingering = null;
    this.#options.reading.stop();
    if (this.#res !== null) this.#over();
  }

  /** Counts a piece of the body that arrived after the response ended. */
  bodyArrived(bytes: number): void {
    const isFlood = bytes < SMALL_PIECE_BYTES && ++this.#smallPieces > MOST_SMALL_PIECES;
    if (isFlood || this.#options.reading.isComplete) this.#cutLingering();
  }

  /** Writes to a body of known length. The library does not buffer it, so the rest is written later. */
  async #writeSized(chunk: Uint8Array, totalBytes: number, departure?: Departure): Promise<void> {
    let rest = chunk;
    let movedAtMs = performance.now();
    for (;;) {
      const res = this.#live();
      const offset = res.getWriteOffset();
      if (offset + rest.length > totalBytes) throw new Error("Cannot write more than the content-length");
      // The rest of the upload stays unread until the library's timer closes the connection.
      if (offset + rest.length === totalBytes) this.#options.reading.pause();
      let isTaken = true;
      let isDone = false;
      departure?.leaving();
      res.cork(() => {
        this.#sendHead(res);
        [isTaken, isDone] = res.tryEnd(rest, totalBytes);
      });
      if (isDone) return this.#over();
      if (isTaken) return this.#reader.took(rest.length);
      departure?.held();
      const sentBytes = res.getWriteOffset() - offset;
      this.#reader.took(sentBytes);
      if (sentBytes > 0) movedAtMs = performance.now();
      rest = rest.subarray(sentBytes);
      await this.#wait(movedAtMs);
    }
  }

  /** Waits until the socket accepts bytes again. The library keeps the unsent part of the chunk. */
  async #drained(): Promise<void> {
    const movedAtMs = performance.now();
    while (!(await this.#wait(movedAtMs))) {
      flush(this.#live());
      // A flush that sends nothing does not reset the library's timer.
      this.#options.reading.rewind();
    }
  }

  /**
   * Responds before the request's body is complete, so that a rejected client can read the reason while it is
   * still uploading.
   *
   * If the library ended the response now, it would lose its idle timer when the body ends, and nothing could
   * close the connection. So the body is written as part of the last header, and we close the connection
   * ourselves when the upload ends or takes too long.
   */
  #endEarly(res: UwsResponse, chunk: Uint8Array, framing: Framing): void {
    const body = this.#options.isHead ? EMPTY : chunk;
    if (!this.#options.isHead && framing !== body.length)
      throw new Error("Cannot end a response before its whole content-length was written");
    const { reading, isBodyRefused } = this.#options;
    // Reading the rest would cost more than serving all other clients.
    const lingerMs = isBodyRefused() ? REFUSED_LINGER_MS : LINGER_MS;
    this.#lingering = { res, timer: setTimeout(() => this.#cutLingering(), lingerMs) };
    if (!isBodyRefused()) reading.resume();
    this.#over();
    res.cork(() => {
      this.#sendHead(res);
      if (!this.#hasNoLength()) res.writeHeader("content-length", String(framing));
      // The library adds a line break after a header; here it follows the body, and clients drop it.
      const rest = body.length === 0 ? "close\r\n" : Buffer.concat([Buffer.from("close\r\n\r\n"), body]);
      res.writeHeader("connection", rest);
    });
  }

  #cutLingering(): void {
    const lingering = this.#lingering;
    if (lingering === null) return;
    this.#lingering = null;
    clearTimeout(lingering.timer);
    this.#options.reading.stop();
    lingering.res.close();
  }

  #endEmpty(res: UwsResponse, framing: Framing): void {
    res.cork(() => {
      this.#sendHead(res);
      // A length passed to `endWithoutBody` would make the library consider the connection busy.
      if (framing !== "chunked" && !this.#hasNoLength()) res.writeHeader("content-length", String(framing));
      if (this.#closesConnection) res.endWithoutBody(undefined, true);
      else res.endWithoutBody();
    });
  }

  #sendHead(res: UwsResponse): void {
    if (this.#isHeadSent || this.#head === null) return;
    this.#isHeadSent = true;
    const { status, headers } = this.#head;
    res.writeStatus(`${status} ${STATUS_CODES[status] ?? ""}`);
    for (const [name, value] of Object.entries(headers)) {
      // The library itself writes these two.
      if (name !== "content-length" && name !== "connection") res.writeHeader(name, value);
    }
  }

  get #closesConnection(): boolean {
    return this.#options.closesConnection || this.#head?.headers["connection"] === "close";
  }

  /** 204 and 304 have neither a body nor a length. */
  #hasNoLength(): boolean {
    return this.#head?.status === 204 || this.#head?.status === 304;
  }

  /**
   * Waits until the socket accepts bytes (true) or the next attempt is due (false). Even a failed attempt
   * resets the library's own timer, which would otherwise cut a slow reader after ten seconds.
   */
  async #wait(movedAtMs: number): Promise<boolean> {
    const res = this.#live();
    if (!this.#listensToWritable) {
      this.#listensToWritable = true;
      res.onWritable(() => this.#onWritable(res));
    }
    const sinceMs = performance.now();
    const leftMs = Math.min(movedAtMs + this.#options.stallMs - sinceMs, this.#reader.leftMs);
    if (leftMs <= 0) this.reset();
    this.#live();
    const isWritable = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(
        () => {
          this.#wake = null;
          resolve(false);
        },
        Math.min(REWIND_MS, leftMs),
      );
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
    this.#reader.waited(performance.now() - sinceMs);
    this.#live();
    return isWritable;
  }

  #onWritable(res: UwsResponse): boolean {
    // While this handler is set, the library does not flush its own backlog.
    if (this.#framing === "chunked") flush(res);
    this.#notify();
    return true;
  }

  #live(): UwsResponse {
    if (this.#res === null) throw new ServiceError("CANCELLED", "the client is gone");
    return this.#res;
  }

  #over(): void {
    this.#res = null;
    if (this.#lingering === null) this.#options.reading.stop();
    this.#notify();
    this.#options.onOver();
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

/** Sends what the library still buffers; an empty cork is enough. */
function flush(res: UwsResponse): void {
  res.cork(() => {});
}

/**
 * Pauses and resumes a request's body, and keeps the library's own timer from cutting the client.
 *
 * The library starts that timer with every piece of a body and every `resume`, even after the body has ended,
 * and stops it only when the response ends. So we reset it regularly from the first piece until then.
 */
export class UwsReading implements BodySource {
  remoteAddress = "";
  readonly #watch: FloodWatch;
  #res: UwsResponse | null;
  #timer: NodeJS.Timeout | null = null;
  #isPaused = false;
  #isComplete = false;

  constructor(res: UwsResponse, watch: FloodWatch) {
    this.#res = res;
    this.#watch = watch;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Called for every piece of the body except the last. */
  arrived(): void {
    this.#timer ??= setInterval(() => this.rewind(), REWIND_MS);
  }

  /** Called at the end of the body. Reading continues, because otherwise a client could leave unnoticed. */
  complete(): void {
    this.#isComplete = true;
    this.resume();
  }

  pause(): void {
    if (this.#res === null || this.#isComplete || this.#isPaused) return;
    this.#isPaused = true;
    this.#res.pause();
  }

  resume(): void {
    if (this.#res === null || !this.#isPaused) return;
    this.#isPaused = false;
    this.#res.resume();
    this.arrived();
  }

  refused(): void {
    this.#watch.flooded(this.remoteAddress);
  }

  burstShare(): number {
    return this.#watch.burstShare(this.remoteAddress);
  }

  /** Drops the native object, which must not be used any more. */
  stop(): void {
    this.#res = null;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Resets the library's timer. Pausing and resuming leaves the socket unchanged. */
  rewind(): void {
    const res = this.#res;
    if (res === null) return;
    if (this.#isPaused) {
      res.resume();
      res.pause();
    } else {
      res.pause();
      res.resume();
    }
  }
}
