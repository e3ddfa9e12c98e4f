import { asSpeechError } from "../domain/errors.js";
import type { Log } from "../observe/log.js";
import type { FrontRequest, FrontResponse, Headers } from "../ports/front.js";
import { CORS_HEADERS } from "./cors.js";
import { errorHeaders, errorName, HTTP_STATUS, publicDetail } from "./error-status.js";

/** One request and its answer, with what every answer carries. */
export class Exchange {
  readonly request: FrontRequest;
  readonly requestId: string;
  readonly log: Log;
  readonly #response: FrontResponse;
  /** Path of the route that answers; null while none is found. */
  route: string | null = null;
  /** Name of the failure that the client was told. */
  errorName: string | null = null;
  readonly #releases: (() => void)[] = [];
  #status: number | null = null;

  constructor(request: FrontRequest, response: FrontResponse, requestId: string, log: Log) {
    this.request = request;
    this.#response = response;
    this.requestId = requestId;
    this.log = log;
  }

  /** Null until the answer has started. */
  get status(): number | null {
    return this.#status;
  }

  get isOver(): boolean {
    return this.#response.isOver;
  }

  /** Has `release` called when the exchange is over, in whatever way. */
  onEnd(release: () => void): void {
    this.#releases.push(release);
  }

  /** The handler is through. */
  ended(): void {
    for (const release of this.#releases.splice(0)) release();
  }

  start(status: number, headers: Headers = {}): void {
    this.#response.start(status, { "x-request-id": this.requestId, ...CORS_HEADERS, ...headers });
    this.#status = status;
  }

  write(chunk: Uint8Array): Promise<void> {
    return this.#response.write(chunk);
  }

  end(chunk?: Uint8Array): Promise<void> {
    return this.#response.end(chunk);
  }

  async json(status: number, body: object, headers: Headers = {}): Promise<void> {
    this.start(status, { "content-type": "application/json", ...headers });
    await this.end(Buffer.from(JSON.stringify(body)));
  }

  /** Answers with an error, or breaks the connection when an answer has begun that can no longer be completed. */
  async fail(thrown: unknown, headers: Headers = {}): Promise<void> {
    const error = asSpeechError(thrown);
    if (this.isOver) return;
    this.errorName = errorName(error.code);
    if (HTTP_STATUS[error.code] >= 500) this.log.error({ err: thrown, code: error.code }, "request failed");
    if (this.#response.hasStarted) return this.#response.reset();
    await this.json(
      HTTP_STATUS[error.code],
      { detail: publicDetail(error) },
      { ...errorHeaders(error.code), ...headers },
    );
  }
}
