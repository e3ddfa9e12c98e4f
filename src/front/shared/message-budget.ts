import { type BucketSize, TokenBucket } from "./token-bucket.js";

/**
 * What one socket's messages may cost. A second of audio in messages of 10 ms costs nothing, and in messages of 2 ms it
 * costs 300 tokens, so that nobody who sends speech is held up, as far ahead of real time as the backlog goes.
 */
const TOKENS: BucketSize = { burst: 12_000, perSecond: 2_000 };
/** A binary message of so many bytes costs no more than its bytes do: 5 ms of audio, 20 ms of a telephone's. */
const WHOLE_MESSAGE_BYTES = 160;
/** A text message is parsed and answered, an empty one of audio is a word of its own: 600 at once, 100 a second. */
const TEXT_TOKENS = 20;
/** Text is parsed a byte at a time. */
const TEXT_BYTES_PER_TOKEN = 128;
/** Pings are answered with a write each: 300 at once, 50 a second. */
const CONTROL_TOKENS = 40;
/** Messages that are dropped after a flood was told, before the connection is cut: goodbyes have their time. */
const MOST_DROPPED = 120_000;

/** The same as numbers, of small audio messages: those below `smallBytes`. */
export const LIVE_MESSAGE_LIMITS = {
  texts: TOKENS.burst / TEXT_TOKENS,
  textsPerSecond: TOKENS.perSecond / TEXT_TOKENS,
  smallAudio: TOKENS.burst,
  smallAudioPerSecond: TOKENS.perSecond,
  smallBytes: WHOLE_MESSAGE_BYTES,
} as const;

/** What a client is told whose messages cost too much. */
export const FLOOD_DETAIL =
  `more messages than are taken: at most ${LIVE_MESSAGE_LIMITS.texts} text messages at once and ` +
  `${LIVE_MESSAGE_LIMITS.textsPerSecond} a second, and ${LIVE_MESSAGE_LIMITS.smallAudio} audio messages of less than ` +
  `${WHOLE_MESSAGE_BYTES} bytes at once and ${LIVE_MESSAGE_LIMITS.smallAudioPerSecond} a second`;

/** `flood` comes once, when a message is the first too many; from then on all are dropped, and at last the socket is cut. */
export type Verdict = "take" | "flood" | "drop" | "cut";

/** Bounds what one client's messages cost, so that others are served meanwhile. */
export class MessageBudget {
  readonly #tokens: TokenBucket;
  /** Of its own: what is parsed has never held others up as calls by the thousand do, so a watched address keeps it whole. */
  readonly #textTokens: TokenBucket;
  #isFlooded = false;
  #dropped = 0;

  /** @param burstShare of the audio and pings that may come at once, `FloodWatch` says it of the sender's address */
  constructor(nowMs?: () => number, burstShare?: number) {
    this.#tokens = new TokenBucket(TOKENS, nowMs, burstShare);
    this.#textTokens = new TokenBucket(TOKENS, nowMs);
  }

  binary(bytes: number): Verdict {
    if (bytes === 0) return this.#judge(this.#textTokens, TEXT_TOKENS);
    return this.#judge(this.#tokens, bytes >= WHOLE_MESSAGE_BYTES ? 0 : 1 - bytes / WHOLE_MESSAGE_BYTES);
  }

  text(bytes: number): Verdict {
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
