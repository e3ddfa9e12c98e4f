import { LRUCache } from "lru-cache";
import { ServiceError } from "../../core/domain/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import type { FloodClosing } from "../../core/ports/front.js";
import { CLOSE_CODE } from "../../core/protocol/error-status.js";
import { FLOOD_DETAIL } from "../front/shared/live-messages.js";
import { type BucketSize, TokenBucket } from "../front/shared/rate-limits.js";
import type { LiveTranslation } from "./dialects/dialect.js";

const FLOOD = "too_many_messages";
/** Floods of one client until it has to wait for `Retry-After`. */
const FLOODS: BucketSize = { burst: 4, perSecond: 2 };
/** Beyond this, the client whose flood was longest ago is forgotten. */
const MOST_CLIENTS = 10_000;

/** Returns what the front sends to a client with too many messages before it closes the socket. */
export function floodClosing(translation: LiveTranslation): FloodClosing {
  return {
    messages: translation.toClient({ type: "error", code: FLOOD, detail: FLOOD_DETAIL, retryable: false }),
    code: CLOSE_CODE.INVALID_REQUEST,
    reason: FLOOD,
  };
}

/**
 * Remembers clients whose live sockets were closed for floods, and makes them wait after a few. A client that
 * reconnects immediately would get a whole budget each time, thirty times a second, which others would
 * notice.
 */
export class Floods {
  readonly #clock: Clock;
  readonly #byClient = new LRUCache<string, TokenBucket>({ max: MOST_CLIENTS });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws {ServiceError} `TOO_MANY_REQUESTS` if the client has to wait */
  check(client: string): void {
    if (this.#byClient.get(client)?.has(1) !== false) return;
    throw new ServiceError(
      "TOO_MANY_REQUESTS",
      "live sockets from this address were closed repeatedly for too many messages: wait a second",
    );
  }

  /** Notes that a socket of `client` was closed for a flood. */
  note(client: string): void {
    const bucket = this.#byClient.get(client) ?? new TokenBucket(FLOODS, () => this.#clock.nowMs());
    bucket.take(1);
    this.#byClient.set(client, bucket);
  }
}
