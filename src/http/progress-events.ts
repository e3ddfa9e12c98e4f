import type { ServiceError } from "../../core/domain/errors.js";
import { ratio } from "../../core/domain/rounded.js";
import type { Departure } from "../../core/ports/front.js";
import { errorEventBody } from "../../core/protocol/error-body.js";
import type { Exchange } from "./exchange.js";
import { endWithBody, joinedBody, type LongBody, textBody } from "./long-body.js";

/** Proxies close a connection that is silent for a minute, some after 30 s. */
export const HEARTBEAT_MS = 15_000;
/** The smallest step worth an event: a progress bar shows no finer ones. */
const LEAST_STEP = 0.005;

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Keeps nginx from buffering the events.
  "x-accel-buffering": "no",
};

/**
 * Sends a response as server-sent events: `progress` during the work, then `result` or `error`. It starts
 * with the first progress, so earlier errors still get a status. Only the result is kept for retries.
 */
export class ProgressEvents {
  readonly #exchange: Exchange;
  #lastShare = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | null = null;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    exchange.onEnd(() => clearInterval(this.#heartbeat));
  }

  /** @param share of the work that is done, 0 to 1 */
  progress(share: number): void {
    if (this.#exchange.isOver) return;
    this.#start();
    // A slow reader gets fewer events.
    if (this.#writing !== null || (share < this.#lastShare + LEAST_STEP && share < 1)) return;
    this.#lastShare = share;
    this.#send(`event: progress\ndata: ${JSON.stringify({ share: ratio(share) })}\n\n`);
  }

  /** @param result JSON without line breaks */
  async result(result: LongBody, departure: Departure): Promise<void> {
    this.#start();
    clearInterval(this.#heartbeat);
    await this.#writing;
    const body = joinedBody(textBody("event: result\ndata: "), result, textBody("\n\n"));
    await endWithBody(this.#exchange, body, departure);
  }

  #start(): void {
    if (this.#exchange.status !== null) return;
    this.#exchange.start(200, HEADERS);
    // If a write is stalled, the error event could not be sent either.
    this.#exchange.lateFailure = (error) => (this.#writing === null ? failureEvent(error) : null);
    this.#heartbeat = setInterval(() => this.#writing ?? this.#send(":\n\n"), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  #send(text: string): void {
    const written = this.#exchange.writeAside(Buffer.from(text));
    // Sending the result reports that a client has left.
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
