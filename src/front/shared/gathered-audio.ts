/** After so many messages the clock is looked at. */
const RUN_MESSAGES = 16;
/** A client that sends them within this is ahead of real time, whatever they hold. */
const RUN_MS = 16;
/** Fewer messages than this in one turn of the event loop: the client has calmed down. */
const LEAST_GATHERED = 4;
const BLOCK_BYTES = 64 * 1024;

/**
 * Audio messages on their way to a session. A client that sends faster than real time is handed on once in a turn of the
 * event loop: where a message is a few bytes, what a session does for each would keep everybody else waiting.
 */
export class GatheredAudio {
  readonly #deliver: (bytes: Uint8Array) => void;
  #run = 0;
  #runSinceMs = performance.now();
  /** Null for a client that is handed on at once. */
  #block: Uint8Array | null = null;
  #length = 0;
  #gathered = 0;

  /** @param deliver is lent the bytes for the length of the call */
  constructor(deliver: (bytes: Uint8Array) => void) {
    this.#deliver = deliver;
  }

  /** Takes a message that is lent for the length of the call. */
  push(bytes: Uint8Array): void {
    if (this.#block !== null) this.#gather(this.#block, bytes);
    else {
      if (++this.#run === RUN_MESSAGES) this.#lookAtClock();
      this.#deliver(bytes);
    }
  }

  /** Hands on what was gathered: before anything else that the client does takes effect. */
  flush(): void {
    if (this.#block === null || this.#length === 0) return;
    const bytes = this.#block.subarray(0, this.#length);
    this.#length = 0;
    this.#deliver(bytes);
  }

  #lookAtClock(): void {
    const nowMs = performance.now();
    if (nowMs - this.#runSinceMs < RUN_MS) this.#block = new Uint8Array(BLOCK_BYTES);
    this.#run = 0;
    this.#runSinceMs = nowMs;
  }

  #gather(block: Uint8Array, bytes: Uint8Array): void {
    if (this.#gathered++ === 0) setImmediate(() => this.#turnEnded());
    if (this.#length + bytes.length > block.length) this.flush();
    if (bytes.length > block.length) this.#deliver(bytes);
    else {
      block.set(bytes, this.#length);
      this.#length += bytes.length;
    }
  }

  #turnEnded(): void {
    this.flush();
    if (this.#gathered < LEAST_GATHERED) {
      this.#block = null;
      this.#runSinceMs = performance.now();
    }
    this.#gathered = 0;
  }
}
