import { ServiceError } from "../../../core/domain/errors.js";
import { TokenBucket } from "./token-bucket.js";

/** How the source of a body is slowed down. */
export interface BodySource {
  pause(): void;
  resume(): void;
  /** The body is refused for the way it comes: told once, behind `pause`. What still comes of it need not be handed over. */
  refused?(): void;
  /** Which part of the small chunks that may come at once its sender may send; asked with the first of them. */
  burstShare?(): number;
}

/** Beyond this the sender is paused; below a quarter of it, it goes on. */
const FULL_BYTES = 256 * 1024;
/** What came in small chunks is handed on in blocks of up to this size. */
const BLOCK_BYTES = 64 * 1024;
/** The room of a block that begins with two small chunks. */
const LEAST_ROOM_BYTES = 4 * 1024;
/** A paused source says nothing of a client that has left: this often it may hand over one more read. */
const PROBE_MS = 1_000;
/** Beyond this not even that: the client may be there, and sends as fast as we look. */
const MOST_BYTES = 8 * 1024 * 1024;
/** A chunk of so many bytes costs no more than its bytes do. */
const WHOLE_CHUNK_BYTES = 256;
/** Smaller chunks that may come at once, and each second: they cost a call each, which nobody else's may wait for. */
const SMALL_CHUNKS = { burst: 2_500, perSecond: 5_000 };

/** Bytes that wait, in memory that has room for more. */
interface Block {
  bytes: Uint8Array;
  length: number;
}

/**
 * A request body on its way from a pushing socket to a pulling reader, in bounded memory.
 *
 * However small the chunks are, what waits is few blocks: a chunk of one byte would cost a hundred in objects.
 */
export class BodyQueue implements AsyncIterable<Uint8Array> {
  readonly #source: BodySource;
  readonly #stallMs: number;
  readonly #blocks: Block[] = [];
  /** From the first of them on: most requests have none. */
  #smallChunks: TokenBucket | null = null;
  /** Memory of the blocks. */
  #queuedBytes = 0;
  #isPaused = false;
  #probe: NodeJS.Timeout | null = null;
  #isComplete = false;
  #isRefused = false;
  /** Makes the error that says why there will be no more: only when somebody reads, since nobody reads most bodies. */
  #failure: (() => ServiceError) | null = null;
  #wake: (() => void) | null = null;
  #wakesSoon = false;

  constructor(source: BodySource, stallMs: number) {
    this.#source = source;
    this.#stallMs = stallMs;
  }

  /** Whether the sender waits for the reader. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether the client sends its body in a way that is not taken: it is paused for good. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Memory that what waits takes, in bytes. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** Blocks that wait. */
  get blockCount(): number {
    return this.#blocks.length;
  }

  /** Takes a chunk. @param isLent its memory is somebody else's after the call: it is copied */
  push(chunk: Uint8Array, isLent = false): void {
    if (chunk.length === 0 || this.#failure !== null) return;
    if (chunk.length < WHOLE_CHUNK_BYTES && !this.#takeSmall(chunk.length)) {
      this.#refuse();
      return;
    }
    this.#keep(chunk, isLent);
    if (this.#queuedBytes >= FULL_BYTES) this.#pause();
    // More may come in the same turn of the event loop: then the reader finds it together.
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

  /** Drops what is queued and whatever still comes: nobody will read it. */
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

  /** Appends to the last block while both are small; the room of a block doubles, so that a short body takes little. */
  #keep(chunk: Uint8Array, isLent: boolean): void {
    const last = this.#blocks.at(-1);
    const total = (last?.length ?? 0) + chunk.length;
    if (last === undefined || total > BLOCK_BYTES) {
      this.#queuedBytes += chunk.length;
      // A small chunk of the sender's would keep the whole read alive that it is a part of.
      const isCopied = isLent || chunk.buffer.byteLength > 2 * chunk.length;
      this.#blocks.push({ bytes: isCopied ? chunk.slice() : chunk, length: chunk.length });
      return;
    }
    if (total > last.bytes.length) {
      const roomier = new Uint8Array(Math.min(BLOCK_BYTES, Math.max(LEAST_ROOM_BYTES, 2 * total)));
      roomier.set(last.bytes.subarray(0, last.length));
      this.#queuedBytes += roomier.length - last.bytes.length;
      last.bytes = roomier;
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
          `a body must not come in more than ${SMALL_CHUNKS.perSecond} chunks of less than ` +
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
    this.#probe ??= setInterval(() => this.#lookForClient(), PROBE_MS).unref();
  }

  /** Lets the source read once more: it hears of the end of the connection, or the next chunk pauses it again. */
  #lookForClient(): void {
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

/** Room that was not needed stays behind where it is most of the block: chunks may travel with all their memory. */
function contentOf({ bytes, length }: Block): Uint8Array {
  return length === bytes.length ? bytes : bytes.slice(0, length);
}
