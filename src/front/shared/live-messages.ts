import { type BucketSize, TokenBucket } from "./rate-limits.js";

/**
 * The budget of one socket. A second of audio costs nothing in messages of 10 ms, and 300 tokens in messages
 * of 2 ms. So speech is never slowed down, even as far ahead of real time as the backlog allows.
 */
const TOKENS: BucketSize = { burst: 12_000, perSecond: 2_000 };
/** Binary messages of at least this size are free: 5 ms of audio, or 20 ms at telephone quality. */
const WHOLE_MESSAGE_BYTES = 160;
/** Cost of text and of empty binary messages, which are commands: 600 at once, then 100 a second. */
const TEXT_TOKENS = 20;
/** Parsing text takes time in proportion to its bytes. */
const TEXT_BYTES_PER_TOKEN = 128;
/** Cost of a ping, which needs a write: 300 at once, then 50 a second. */
const CONTROL_TOKENS = 40;
/** Messages dropped after a flood before the connection is cut. The client can close it itself until then. */
const MOST_DROPPED = 120_000;

/** The same limits as counts. Audio messages below `smallBytes` are small. */
export const LIVE_MESSAGE_LIMITS = {
  texts: TOKENS.burst / TEXT_TOKENS,
  textsPerSecond: TOKENS.perSecond / TEXT_TOKENS,
  smallAudio: TOKENS.burst,
  smallAudioPerSecond: TOKENS.perSecond,
  smallBytes: WHOLE_MESSAGE_BYTES,
} as const;

export const FLOOD_DETAIL =
  `too many messages: at most ${LIVE_MESSAGE_LIMITS.texts} text messages at once and ` +
  `${LIVE_MESSAGE_LIMITS.textsPerSecond} a second, and ${LIVE_MESSAGE_LIMITS.smallAudio} audio messages of less than ` +
  `${WHOLE_MESSAGE_BYTES} bytes at once and ${LIVE_MESSAGE_LIMITS.smallAudioPerSecond} a second`;

/** `flood` is returned once, for the first excess message. Later messages get `drop`, and finally `cut`. */
export type Verdict = "take" | "flood" | "drop" | "cut";

/** Limits how much work one client's messages cause, so that other clients are served in time. */
export class MessageBudget {
  readonly #tokens: TokenBucket;
  /** Not reduced for a watched address, because parsing text has never delayed other clients. */
  readonly #textTokens: TokenBucket;
  #isFlooded = false;
  #dropped = 0;

  readonly #hasAudioInText: boolean;

  /**
   * @param burstShare share of the audio and pings allowed at once, from `FloodWatch`
   * @param hasAudioInText true if text messages count like audio; the owner then limits other text itself
   */
  constructor(nowMs?: () => number, burstShare?: number, hasAudioInText = false) {
    this.#hasAudioInText = hasAudioInText;
    this.#tokens = new TokenBucket(TOKENS, nowMs, burstShare);
    this.#textTokens = new TokenBucket(TOKENS, nowMs);
  }

  binary(bytes: number): Verdict {
    if (bytes === 0) return this.#judge(this.#textTokens, TEXT_TOKENS);
    return this.#judge(this.#tokens, bytes >= WHOLE_MESSAGE_BYTES ? 0 : 1 - bytes / WHOLE_MESSAGE_BYTES);
  }

  text(bytes: number): Verdict {
    if (this.#hasAudioInText) return this.binary(bytes);
    return this.#judge(this.#textTokens, TEXT_TOKENS + bytes / TEXT_BYTES_PER_TOKEN);
  }

  control(): Verdict {
    return this.#judge(this.#tokens, CONTROL_TOKENS);
  }

  #judge(bucket: TokenBucket, tokens: number): Verdict {
    if (!this.#isFlooded && bucket.take(tokens)) return "take";
    if (!this.#isFlooded) {
      this.#isFlooded = true;
      return "flood";
    }
    return ++this.#dropped > MOST_DROPPED ? "cut" : "drop";
  }
}

/** The clock is read once per run of this many messages. */
const RUN_MESSAGES = 16;
/** A client that sends a run within this time is ahead of real time, whatever the size of its messages. */
const RUN_MS = 16;
/** Joining stops when a turn of the event loop brings fewer messages than this. */
const LEAST_GATHERED = 4;
const BLOCK_BYTES = 64 * 1024;

/**
 * Joins the audio messages of a client that sends faster than real time, and delivers them once per turn of
 * the event loop. Otherwise, handling each tiny message would delay all other clients.
 */
export class GatheredAudio {
  readonly #deliver: (bytes: Uint8Array) => void;
  #run = 0;
  #runSinceMs = performance.now();
  /** Null while messages are delivered one by one. */
  #block: Uint8Array | null = null;
  #length = 0;
  #gathered = 0;

  /** @param deliver borrows the bytes until it returns */
  constructor(deliver: (bytes: Uint8Array) => void) {
    this.#deliver = deliver;
  }

  /** @param bytes borrowed until this returns */
  push(bytes: Uint8Array): void {
    if (this.#block !== null) this.#gather(this.#block, bytes);
    else {
      if (++this.#run === RUN_MESSAGES) this.#endRun();
      this.#deliver(bytes);
    }
  }

  /** Delivers the joined messages. Call it before handling anything else from the client. */
  flush(): void {
    if (this.#block === null || this.#length === 0) return;
    const bytes = this.#block.subarray(0, this.#length);
    this.#length = 0;
    this.#deliver(bytes);
  }

  #endRun(): void {
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
