import type { ServiceError } from "../../core/domain/errors.js";
import type { Departure } from "../../core/ports/front.js";
import { openAiError } from "../../core/protocol/error-body.js";
import type { Exchange } from "./exchange.js";
import { endWithBody, textBody, writeBody } from "./long-body.js";

/** Proxies close a connection that is silent for a minute; some do so after 30 s. */
export const HEARTBEAT_MS = 15_000;

export const EVENT_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Keeps nginx from buffering the events.
  "x-accel-buffering": "no",
};

/**
 * Sends a response as server-sent events in OpenAI's shape: each event is a JSON object with a `type`. A
 * failure after the first event is sent as an `error` event. Comments keep the connection open, and are not
 * stored for retries.
 */
export class OpenAiEvents {
  readonly #exchange: Exchange;
  readonly #headers: () => Readonly<Record<string, string>>;
  #heartbeat: NodeJS.Timeout | undefined;
  #isWriting = false;

  /** @param headers returns additional headers; called when the response starts */
  constructor(exchange: Exchange, headers: () => Readonly<Record<string, string>> = () => ({})) {
    this.#exchange = exchange;
    this.#headers = headers;
    exchange.onEnd(() => clearInterval(this.#heartbeat));
  }

  get hasStarted(): boolean {
    return this.#exchange.status !== null;
  }

  async send(event: object, departure?: Departure): Promise<void> {
    this.#start();
    this.#isWriting = true;
    await writeBody(this.#exchange, textBody(eventText(event)), departure);
    this.#isWriting = false;
  }

  /** Sends the last event. */
  async end(event: object, departure?: Departure): Promise<void> {
    this.#start();
    this.#isWriting = true;
    clearInterval(this.#heartbeat);
    await endWithBody(this.#exchange, textBody(eventText(event)), departure);
  }

  #start(): void {
    if (this.hasStarted) return;
    this.#exchange.start(200, { ...EVENT_HEADERS, ...this.#headers() });
    // If a write has stalled, the error event could not be sent either.
    this.#exchange.lateFailure = (error) => (this.#isWriting ? null : failure(error));
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  #beat(): void {
    if (this.#isWriting || this.#exchange.isOver) return;
    // If the client has left, the next write reports that.
    this.#exchange.writeAside(Buffer.from(":\n\n")).catch(() => {});
  }
}

function eventText(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

function failure(error: ServiceError): Uint8Array {
  return Buffer.from(eventText({ type: "error", error: openAiError(error) }));
}
