import { SpeechError } from "../domain/errors.js";

/** How the source of a body is slowed down. */
export interface BodySource {
  pause(): void;
  resume(): void;
}

/** Beyond this the sender is paused; below a quarter of it, it goes on. */
const FULL_BYTES = 256 * 1024;

/** A request body on its way from a pushing socket to a pulling reader, in bounded memory. */
export class BodyQueue implements AsyncIterable<Uint8Array> {
  readonly #source: BodySource;
  readonly #stallMs: number;
  readonly #chunks: Uint8Array[] = [];
  #queuedBytes = 0;
  #isPaused = false;
  #isComplete = false;
  /** Why there will be no more; the error is made when somebody reads, since nobody reads most bodies. */
  #failure: string | null = null;
  #wake: (() => void) | null = null;

  constructor(source: BodySource, stallMs: number) {
    this.#source = source;
    this.#stallMs = stallMs;
  }

  /** Whether the sender waits for the reader. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Takes a chunk that belongs to the queue from now on. */
  push(chunk: Uint8Array): void {
    if (chunk.length > 0) {
      this.#chunks.push(chunk);
      this.#queuedBytes += chunk.length;
    }
    if (this.#queuedBytes >= FULL_BYTES && !this.#isPaused) {
      this.#isPaused = true;
      this.#source.pause();
    }
    this.#notify();
  }

  complete(): void {
    this.#isComplete = true;
    this.#notify();
  }

  fail(reason: string): void {
    if (this.#isComplete || this.#failure !== null) return;
    this.#failure = reason;
    this.#chunks.length = 0;
    this.#notify();
  }

  /** Drops what is queued and whatever still comes: nobody will read it. */
  discard(): void {
    this.#chunks.length = 0;
    this.#queuedBytes = 0;
    this.#resumeIfDrained();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#queuedBytes -= chunk.length;
        this.#resumeIfDrained();
        yield chunk;
      } else if (this.#failure !== null) throw new SpeechError("CANCELLED", this.#failure);
      else if (this.#isComplete) return;
      else await this.#arrival();
    }
  }

  #resumeIfDrained(): void {
    if (!this.#isPaused || this.#queuedBytes > FULL_BYTES / 4) return;
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

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
