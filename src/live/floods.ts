import { LRUCache } from "lru-cache";
import { ServiceError } from "../../core/domain/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import type { ClosingMessage } from "../../core/ports/front.js";
import { CLOSE_CODE } from "../../core/protocol/error-status.js";
import { FLOOD_DETAIL } from "../front/shared/message-budget.js";
import { type BucketSize, TokenBucket } from "../front/shared/token-bucket.js";
import type { LiveTranslation } from "./dialects/dialect.js";

const FLOOD = "too_many_messages";
/** So many sockets of one client may flood at once, and so many a second: after `Retry-After` it is let in again. */
const FLOODS: BucketSize = { burst: 4, perSecond: 2 };
/** Clients that are remembered; beyond it the one whose flood is longest ago is forgotten. */
const MOST_CLIENTS = 10_000;

/** What the front says for us to a client that sends more messages than it takes. */
export function floodClosingMessage(translation: LiveTranslation): ClosingMessage {
  return {
    messages: translation.toClient({ type: "error", code: FLOOD, detail: FLOOD_DETAIL, retryable: false }),
    code: CLOSE_CODE.INVALID_REQUEST,
    reason: FLOOD,
  };
}

/**
 * Clients whose live sockets were closed for floods lately. One that comes back at once has a whole budget again, and in a
 * second thirty of them, which others would notice: after a few floods it waits.
 */
export class Floods {
  readonly #clock: Clock;
  readonly #byClient = new LRUCache<string, TokenBucket>({ max: MOST_CLIENTS });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws {ServiceError} `TOO_MANY_REQUESTS` for a client that has to wait */
  check(client: string): void {
    if (this.#byClient.get(client)?.has(1) !== false) return;
    throw new ServiceError(
      "TOO_MANY_REQUESTS",
      "live sockets from this address were closed for too many messages again and again: wait a second",
    );
  }

  /** Notes that a socket of `client` was closed for a flood. */
  note(client: string): void {
    const bucket = this.#byClient.get(client) ?? new TokenBucket(FLOODS, () => this.#clock.nowMs());
    bucket.take(1);
    this.#byClient.set(client, bucket);
  }
}
