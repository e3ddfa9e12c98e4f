import { ServiceError } from "../../../core/domain/errors.js";
import { TokenBucket } from "./rate-limits.js";

export interface BodySource {
  pause(): void;
  resume(): void;
  /** Called once, after `pause`, if the body is rejected for its tiny chunks. The rest need not be pushed. */
  refused?(): void;
  /** Returns the share of the small-chunk burst that this sender gets; called with the first small chunk. */
  burstShare?(): number;
}

/** The sender is paused above this many queued bytes, and resumed below a quarter of it. */
const FULL_BYTES = 256 * 1024;
/** Small chunks are joined into blocks of at most this size. */
const BLOCK_BYTES = 64 * 1024;
const LEAST_BLOCK_BYTES = 4 * 1024;
/** How often a paused source is probed: unless it is read, it does not report that its client has left. */
const PROBE_MS = 1_000;
/**
 * Probing stops at this many queued bytes: the client is evidently connected and sends as fast as we probe.
 */
const MOST_BYTES = 8 * 1024 * 1024;
/** A chunk of at least this size costs no more than its bytes. */
const WHOLE_CHUNK_BYTES = 256;
/** Each smaller chunk costs a call, and many of them would keep other clients waiting. */
const SMALL_CHUNKS = { burst: 2_500, perSecond: 5_000 };

/** Queued bytes, in a buffer that may have room for more. */
interface Block {
  bytes: Uint8Array;
  length: number;
}

/**
 * Queues a request body between a socket that pushes and a reader that pulls, in bounded memory. Small chunks
 * are joined, because each would otherwise cost a hundred bytes of objects.
 */
export class BodyQueue implements AsyncIterable<Uint8Array> {
  readonly #source: BodySource;
  readonly #stallMs: number;
  readonly #blocks: Block[] = [];
  /** Created with the first small chunk, because most requests have none. */
  #smallChunks: TokenBucket | null = null;
  #queuedBytes = 0;
  #isPaused = false;
  #probe: NodeJS.Timeout | null = null;
  #isComplete = false;
  #isRefused = false;
  /** Creates the error only when the body is read; most failed bodies are not. */
  #failure: (() => ServiceError) | null = null;
  #wake: (() => void) | null = null;
  #wakesSoon = false;

  constructor(source: BodySource, stallMs: number) {
    this.#source = source;
    this.#stallMs = stallMs;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** True if the body was rejected for its tiny chunks. Its source stays paused. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get blockCount(): number {
    return this.#blocks.length;
  }

  /**
   * @param isBorrowed true if the caller reuses the memory after the call, so that the chunk must be copied
   */
  push(chunk: Uint8Array, isBorrowed = false): void {
    if (chunk.length === 0 || this.#failure !== null) return;
    if (chunk.length < WHOLE_CHUNK_BYTES && !this.#takeSmall(chunk.length)) {
      this.#refuse();
      return;
    }
    this.#keep(chunk, isBorrowed);
    if (this.#queuedBytes >= FULL_BYTES) this.#pause();
    // More small chunks may follow in this turn of the event loop; the reader then gets them in one block.
    if (chunk.length >= BLOCK_BYTES / 2) this.#notify();
    else this.#notifySoon();
  }

  complete(): void {
    this.#isComplete = true;
    this.#endProbe();
    this.#notify();
  }

  fail(reason: string): void {
    if (this.#isComplete) return;
    this.#failWith(() => new ServiceError("CANCELLED", reason));
  }

  /** Drops the queue and lets the source continue without a reader. */
  discard(): void {
    this.#drop();
    this.#resumeIfDrained();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const block = this.#blocks.shift();
      if (block !== undefined) {
        this.#queuedBytes -= block.bytes.length;
        this.#resumeIfDrained();
        yield contentOf(block);
      } else if (this.#failure !== null) throw this.#failure();
      else if (this.#isComplete) return;
      else await this.#arrival();
    }
  }

  /** Appends to the last block if that is short. Buffers double, so a short body takes little memory. */
  #keep(chunk: Uint8Array, isBorrowed: boolean): void {
    const last = this.#blocks.at(-1);
    const total = (last?.length ?? 0) + chunk.length;
    if (last === undefined || total > BLOCK_BYTES) {
      this.#queuedBytes += chunk.length;
      // Keeping a small chunk would keep the whole read buffer alive.
      const isCopied = isBorrowed || chunk.buffer.byteLength > 2 * chunk.length;
      this.#blocks.push({ bytes: isCopied ? chunk.slice() : chunk, length: chunk.length });
      return;
    }
    if (total > last.bytes.length) {
      const larger = new Uint8Array(Math.min(BLOCK_BYTES, Math.max(LEAST_BLOCK_BYTES, 2 * total)));
      larger.set(last.bytes.subarray(0, last.length));
      this.#queuedBytes += larger.length - last.bytes.length;
      last.bytes = larger;
    }
    last.bytes.set(chunk, last.length);
    last.length = total;
  }

  #takeSmall(bytes: number): boolean {
    this.#smallChunks ??= new TokenBucket(SMALL_CHUNKS, undefined, this.#source.burstShare?.());
    return this.#smallChunks.take(1 - bytes / WHOLE_CHUNK_BYTES);
  }

  #refuse(): void {
    this.#isRefused = true;
    if (!this.#isPaused) this.#source.pause();
    this.#isPaused = true;
    this.#source.refused?.();
    this.#failWith(
      () =>
        new ServiceError(
          "INVALID_REQUEST",
          `a body must not arrive in more than ${SMALL_CHUNKS.perSecond} chunks of less than ` +
            `${WHOLE_CHUNK_BYTES} bytes a second: send larger chunks`,
        ),
    );
  }

  #failWith(failure: () => ServiceError): void {
    if (this.#failure !== null) return;
    this.#failure = failure;
    this.#drop();
    this.#endProbe();
    this.#notify();
  }

  #drop(): void {
    this.#blocks.length = 0;
    this.#queuedBytes = 0;
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#source.pause();
    this.#probe ??= setInterval(() => this.#probeClient(), PROBE_MS).unref();
  }

  /**
   * Lets the source read once: either it notices that the connection ended, or the next chunk pauses it
   * again.
   */
  #probeClient(): void {
    if (!this.#isPaused || this.#queuedBytes >= MOST_BYTES) return;
    this.#isPaused = false;
    this.#source.resume();
  }

  #endProbe(): void {
    if (this.#probe !== null) clearInterval(this.#probe);
    this.#probe = null;
  }

  #resumeIfDrained(): void {
    if (this.#isRefused || this.#queuedBytes > FULL_BYTES / 4) return;
    this.#endProbe();
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#source.resume();
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      const stalled = setTimeout(() => this.fail("the request body stalled"), this.#stallMs);
      this.#wake = () => {
        clearTimeout(stalled);
        resolve();
      };
    });
  }

  #notifySoon(): void {
    if (this.#wakesSoon || this.#wake === null) return;
    this.#wakesSoon = true;
    setImmediate(() => {
      this.#wakesSoon = false;
      this.#notify();
    });
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

/**
 * Copies a partly filled block, because chunks may be transferred to another thread with their whole buffer.
 */
function contentOf({ bytes, length }: Block): Uint8Array {
  return length === bytes.length ? bytes : bytes.slice(0, length);
}
