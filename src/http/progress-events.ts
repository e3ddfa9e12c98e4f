import type { ServiceError } from "../../core/domain/errors.js";
import { ratio } from "../../core/domain/rounded.js";
import type { Departure } from "../../core/ports/front.js";
import { errorEventBody } from "../../core/protocol/error-body.js";
import type { Exchange } from "./exchange.js";
import { endWithBody, joinedBody, type LongBody, textBody } from "./long-body.js";

/** Proxies close a connection on which nothing comes for a minute, some after 30 s. */
export const HEARTBEAT_MS = 15_000;
/** A bar that grows need not be told more often. */
const LEAST_STEP = 0.005;

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // nginx would collect the events otherwise.
  "x-accel-buffering": "no",
};

/**
 * An answer as server-sent events: `progress` while the work goes on, then `result` or `error`. It begins with the first
 * progress; what goes wrong before that is answered with a status. Of the answer that is kept for a repetition only the result
 * is a part.
 */
export class ProgressEvents {
  readonly #exchange: Exchange;
  #told = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | null = null;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    exchange.onEnd(() => clearInterval(this.#heartbeat));
  }

  /** @param share that is done, 0 to 1 */
  progress(share: number): void {
    if (this.#exchange.isOver) return;
    this.#begin();
    // A reader that is slow hears less.
    if (this.#writing !== null || (share < this.#told + LEAST_STEP && share < 1)) return;
    this.#told = share;
    this.#say(`event: progress\ndata: ${JSON.stringify({ share: ratio(share) })}\n\n`);
  }

  /** @param result JSON, which has no line breaks */
  async result(result: LongBody, departure: Departure): Promise<void> {
    this.#begin();
    clearInterval(this.#heartbeat);
    await this.#writing;
    const body = joinedBody(textBody("event: result\ndata: "), result, textBody("\n\n"));
    await endWithBody(this.#exchange, body, departure);
  }

  #begin(): void {
    if (this.#exchange.status !== null) return;
    this.#exchange.start(200, HEADERS);
    // A reader who is that slow would wait for the error as well.
    this.#exchange.lateFailure = (error) => (this.#writing === null ? failureEvent(error) : null);
    this.#heartbeat = setInterval(() => this.#writing ?? this.#say(":\n\n"), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  #say(text: string): void {
    const written = this.#exchange.writeAside(Buffer.from(text));
    // That a client has left shows when the result is sent.
    this.#writing = written
      .catch(() => {})
      .then(() => {
        this.#writing = null;
      });
  }
}

function failureEvent(error: ServiceError): Uint8Array {
  return Buffer.from(`event: error\ndata: ${JSON.stringify(errorEventBody(error))}\n\n`);
}
