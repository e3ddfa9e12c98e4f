import { STATUS_CODES } from "node:http";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Departure, FrontResponse, Headers, ReaderPace } from "../../../core/ports/front.js";
import type { BodySource } from "../shared/body-queue.js";
import { type FloodWatch, PacedReader } from "../shared/rate-limits.js";
import type { UwsResponse } from "./uws-binding.js";

/** Chunked bodies are handed over in pieces, so that what the library buffers for a slow reader stays small. */
const PIECE_BYTES = 64 * 1024;
/** How often a stalled write is retried and the library's own 10 s timer is reset. */
const REWIND_MS = 4_000;
const EMPTY = new Uint8Array(0);
/** A client that still uploads when its answer is complete may go on this long to read that answer. */
const LINGER_MS = 5_000;
/** The same for a client whose body is refused for the way it comes, and read no further. */
const REFUSED_LINGER_MS = 500;
/** Pieces of a body that cost a call each and bring next to nothing. */
const SMALL_PIECE_BYTES = 256;
/** Beyond so many of them behind the end of its answer a client is cut. */
const MOST_SMALL_PIECES = 1_000;

export interface UwsAnswerOptions {
  readonly isHead: boolean;
  /** The connection cannot be used again. */
  readonly closesConnection: boolean;
  readonly stallMs: number;
  readonly readerPace: ReaderPace;
  readonly reading: UwsReading;
  /** Whether the body comes in a way that is not taken. */
  readonly isBodyRefused: () => boolean;
  /** Called once, when the answer is over in any way. */
  readonly onOver: () => void;
}

/** Either the number of bytes a body must have, or `chunked`. */
type Framing = number | "chunked";

/** An answer over uWebSockets.js. The native object dies with the answer, so it is let go of at once. */
export class UwsAnswer implements FrontResponse {
  readonly #options: UwsAnswerOptions;
  readonly #reader: PacedReader;
  #res: UwsResponse | null;
  #head: { readonly status: number; readonly headers: Headers } | null = null;
  #isHeadSent = false;
  #framing: Framing | null = null;
  #wake: (() => void) | null = null;
  #listensToWritable = false;
  /** Of the body, behind the end of the answer. */
  #smallPieces = 0;
  /** The connection after an answer that came before its request's body did. */
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
    // A long answer takes its reader time: it goes the usual way, and the upload waits.
    const isShort = this.#options.isHead || chunk.length <= PIECE_BYTES;
    if (!this.#options.reading.isComplete && !this.#isHeadSent && isShort) {
      departure?.leaving();
      return this.#endEarly(res, chunk, this.#framing);
    }
    if (this.#options.isHead) return this.#endHead(res, this.#framing);
    if (this.#closesConnection && !this.#isHeadSent) {
      departure?.leaving();
      return this.#endAndClose(res, chunk);
    }
    if (this.#framing !== "chunked" && this.#framing > 0) {
      if (chunk.length > 0) await this.#writeSized(chunk, this.#framing, departure);
      if (this.#res !== null)
        throw new Error("Cannot end a response before its whole content-length was written");
      return;
    }
    if (chunk.length > 0) await this.write(chunk, departure);
    const last = this.#live();
    this.#stopUpload();
    this.#over();
    last.cork(() => {
      this.#sendHead(last);
      if (this.#framing === "chunked") last.end(undefined, this.#closesConnection);
      else this.#endEmpty(last, 0);
    });
  }

  reset(): void {
    const res = this.#res;
    if (res === null) return;
    this.#over();
    res.close();
  }

  /** The library says the client is gone: the native object must not be touched any more. */
  aborted(): void {
    if (this.#lingering !== null) clearTimeout(this.#lingering.timer);
    this.#lingering = null;
    this.#options.reading.stop();
    if (this.#res !== null) this.#over();
  }

  /** More of the body has come behind the end of the answer, in a piece of `bytes`. */
  bodyArrived(bytes: number): void {
    const isFlood = bytes < SMALL_PIECE_BYTES && ++this.#smallPieces > MOST_SMALL_PIECES;
    if (isFlood || this.#options.reading.isComplete) this.#cutLingering();
  }

  /** A body of known length is never buffered by the library: what does not fit is offered again when it drains. */
  async #writeSized(chunk: Uint8Array, totalBytes: number, departure?: Departure): Promise<void> {
    let rest = chunk;
    let movedAtMs = performance.now();
    for (;;) {
      const res = this.#live();
      const offset = res.getWriteOffset();
      if (offset + rest.length > totalBytes) throw new Error("Cannot write more than the content-length");
      if (offset + rest.length === totalBytes) this.#stopUpload();
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

  /** The library keeps what did not fit of a chunk: waits until the socket takes bytes again. */
  async #drained(): Promise<void> {
    const movedAtMs = performance.now();
    while (!(await this.#wait(movedAtMs))) {
      flush(this.#live());
      // A flush that sends nothing leaves the library's timer as it is.
      this.#options.reading.rewind();
    }
  }

  /** `tryEnd` cannot close the connection, so the whole answer goes out at once. */
  #endAndClose(res: UwsResponse, body: Uint8Array): void {
    this.#over();
    res.cork(() => {
      this.#sendHead(res);
      res.end(body, true);
    });
  }

  /**
   * Answers before the body of the request has come: a client that is refused reads why while it still uploads.
   *
   * An answer that is ended before that loses the library's idle timer when the body ends, and nothing is left to close
   * the connection with. So the library is not told: the body goes out behind the last header, in its place, and the
   * connection is closed by us, when the upload ends or has gone on for long enough.
   */
  #endEarly(res: UwsResponse, chunk: Uint8Array, framing: Framing): void {
    const body = this.#options.isHead ? EMPTY : chunk;
    if (!this.#options.isHead && framing !== body.length)
      throw new Error("Cannot end a response before its whole content-length was written");
    const { reading, isBodyRefused } = this.#options;
    // Read on, what is refused for the way it comes would cost more than all others.
    const lingerMs = isBodyRefused() ? REFUSED_LINGER_MS : LINGER_MS;
    this.#lingering = { res, timer: setTimeout(() => this.#cutLingering(), lingerMs) };
    if (!isBodyRefused()) reading.resume();
    this.#over();
    res.cork(() => {
      this.#sendHead(res);
      if (!this.#hasNoLength()) res.writeHeader("content-length", String(framing));
      // The library ends each header's line. After a body that line break is dropped by clients, with the connection.
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

  /** An answer of many pieces ends before its request's body: the rest is left unread until the library's timer cuts it. */
  #stopUpload(): void {
    this.#options.reading.pause();
  }

  #endHead(res: UwsResponse, framing: Framing): void {
    this.#over();
    res.cork(() => {
      this.#sendHead(res);
      this.#endEmpty(res, framing);
    });
  }

  #endEmpty(res: UwsResponse, framing: Framing): void {
    // Told through `endWithoutBody`, a length makes the library believe that the connection is still busy.
    if (framing !== "chunked" && !this.#hasNoLength()) res.writeHeader("content-length", String(framing));
    if (this.#closesConnection) res.endWithoutBody(undefined, true);
    else res.endWithoutBody();
  }

  #sendHead(res: UwsResponse): void {
    if (this.#isHeadSent || this.#head === null) return;
    this.#isHeadSent = true;
    const { status, headers } = this.#head;
    res.writeStatus(`${status} ${STATUS_CODES[status] ?? ""}`);
    for (const [name, value] of Object.entries(headers)) {
      // The library writes the length itself, and that the connection closes.
      if (name !== "content-length" && name !== "connection") res.writeHeader(name, value);
    }
  }

  get #closesConnection(): boolean {
    return this.#options.closesConnection || this.#head?.headers["connection"] === "close";
  }

  /** 204 and 304 have no body and say no length. */
  #hasNoLength(): boolean {
    return this.#head?.status === 204 || this.#head?.status === 304;
  }

  /**
   * Waits for the socket to take bytes, or for the next attempt that is due; true for the former.
   *
   * An attempt that fails winds up the library's own timeout, which would cut a slow reader after ten seconds.
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
    // With this handler in place the library leaves its own backlog alone.
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

/** An empty cork sends what the library still holds. */
function flush(res: UwsResponse): void {
  res.cork(() => {});
}

/**
 * How the body of one request is read: paused and resumed, without the library's own timer coming in between.
 *
 * The library arms that timer with every piece of a body and with every `resume`, also when the body was complete by
 * then, and nothing but the end of the answer disarms it: so it is wound up from the first of them to that end.
 */
export class UwsReading implements BodySource {
  /** Of the sender. */
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

  /** Whether all of the body has come. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** A piece of the body has come, which was not the last. */
  arrived(): void {
    this.#start();
  }

  /** The body has come, or there is none. Reading goes on, or the client could leave unnoticed. */
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
    this.#start();
  }

  refused(): void {
    this.#watch.flooded(this.remoteAddress);
  }

  burstShare(): number {
    return this.#watch.burstShare(this.remoteAddress);
  }

  /** The native object is not to be touched any more. */
  stop(): void {
    this.#res = null;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #start(): void {
    this.#timer ??= setInterval(() => this.rewind(), REWIND_MS);
  }

  /** Winds the library's timer up: going there and back again leaves the socket as it was. */
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
