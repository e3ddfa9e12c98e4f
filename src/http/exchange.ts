import { asServiceError, errorName, type ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Departure, FrontRequest, FrontResponse, Headers } from "../../core/ports/front.js";
import { NO_SPAN, type Span } from "../../core/ports/span.js";
import {
  ANSWER_HEADERS,
  IDEMPOTENCY,
  isOpenAiPath,
  OPENAI_CLIENT_HEADER,
} from "../../core/protocol/endpoints.js";
import { errorBody, openAiErrorBody } from "../../core/protocol/error-body.js";
import { errorHeaders, HTTP_STATUS } from "../../core/protocol/error-status.js";

/** A shorter wait for a model is no cold start that a client would notice. */
const COLD_START_FROM_MS = 1_000;

/** Takes a copy of an answer as it leaves. What goes wrong with the copy is its own affair: none of these fail. */
export interface AnswerListener {
  started(status: number, headers: Headers): void;
  written(chunk: Uint8Array): Promise<void>;
  /** The answer is known to its end; its last bytes leave when this settles. */
  completed(): Promise<void>;
}

/** One request and its answer, with what every answer carries. */
export class Exchange {
  readonly request: FrontRequest;
  readonly requestId: string;
  readonly log: Log;
  readonly #response: FrontResponse;
  /** Path of the route that answers; null while none is found. */
  route: string | null = null;
  /** Of the request, once its route is known. */
  span: Span = NO_SPAN;
  /** Name of the failure that the client was told. */
  errorName: string | null = null;
  /** The one that keeps a copy of the answer. */
  listener: AnswerListener | null = null;
  /** Ends an answer that has begun and cannot be completed; without it, or when it says null, the connection is broken. */
  lateFailure: ((error: ServiceError) => Uint8Array | null) | null = null;
  /** Whether pages of other origins may read the answer. */
  isSameOrigin = false;
  #extraHeaders: Headers = {};
  readonly #releases: (() => void)[] = [];
  #status: number | null = null;
  #modelWaitMs = 0;

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

  /** The answer says so when the request has waited long for its models; it counts until the answer starts. */
  waitedForModel(waitedMs: number): void {
    this.#modelWaitMs += waitedMs;
  }

  /** The handler is through. */
  ended(): void {
    for (const release of this.#releases.splice(0)) release();
  }

  /** Headers that this answer has besides its own; errors go without them. */
  addHeaders(headers: Headers): void {
    this.#extraHeaders = { ...this.#extraHeaders, ...headers };
  }

  start(status: number, headers: Headers = {}): void {
    const always = {
      "x-request-id": this.requestId,
      ...(!this.isSameOrigin && CORS_HEADERS),
      ...this.#coldStartHeader(),
    };
    this.#response.start(status, { ...always, ...(status < 300 && this.#extraHeaders), ...headers });
    this.#status = status;
    this.listener?.started(status, headers);
  }

  async write(chunk: Uint8Array, departure?: Departure): Promise<void> {
    const copied = this.listener?.written(chunk);
    await this.#response.write(chunk, departure);
    await copied;
  }

  /** Bytes that tell how the work goes, and are no part of the answer: no copy is kept of them. */
  async writeAside(chunk: Uint8Array): Promise<void> {
    await this.#response.write(chunk);
  }

  async end(chunk?: Uint8Array, departure?: Departure): Promise<void> {
    if (chunk !== undefined) await this.listener?.written(chunk);
    await this.listener?.completed();
    await this.#response.end(chunk, departure);
  }

  async json(status: number, body: object, headers: Headers = {}, departure?: Departure): Promise<void> {
    this.start(status, { "content-type": "application/json", ...headers });
    await this.end(Buffer.from(JSON.stringify(body)), departure);
  }

  /** Answers with an error, or breaks the connection when an answer has begun that can no longer be completed. */
  async fail(thrown: unknown, headers: Headers = {}): Promise<void> {
    const error = asServiceError(thrown);
    if (this.isOver) return;
    this.errorName = errorName(error.code);
    if (HTTP_STATUS[error.code] >= 500) this.log.error({ err: thrown, code: error.code }, "request failed");
    if (this.#response.hasStarted) {
      const last = this.lateFailure?.(error) ?? null;
      return last === null ? this.#response.reset() : this.#response.end(last);
    }
    await this.json(
      HTTP_STATUS[error.code],
      this.#readsOpenAi() ? openAiErrorBody(error) : errorBody(error),
      { ...errorHeaders(error.code), ...headers },
    );
  }

  /** Whether the client said that it is one of OpenAI's, on a path where they call. */
  #readsOpenAi(): boolean {
    const { request } = this;
    return request.header(OPENAI_CLIENT_HEADER) !== undefined && isOpenAiPath(request.path);
  }

  #coldStartHeader(): Headers {
    if (this.#modelWaitMs <= COLD_START_FROM_MS) return {};
    return { "x-svc-cold-start-ms": String(Math.round(this.#modelWaitMs)) };
  }
}

const EXPOSED = [
  ...Object.keys(ANSWER_HEADERS),
  ...Object.keys(IDEMPOTENCY.answerHeaders),
  ...["X-Svc-Error", "x-request-id", "x-should-retry", "Retry-After"],
].join(", ");

/** On every answer: browsers of any origin may call the API, without cookies. */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": EXPOSED,
};

/** Answer to an OPTIONS request. The requested headers are reflected, since `*` does not cover Authorization. */
export function preflightHeaders(request: FrontRequest, methods: readonly string[]): Record<string, string> {
  const requested = request.header("access-control-request-headers") ?? "";
  const allowed = requested.split(",").map((name) => name.trim().toLowerCase());
  const names = allowed.filter((name) => /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)).slice(0, 50);
  return {
    allow: methods.join(", "),
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers":
      names.length > 0
        ? names.join(", ")
        : `authorization, content-type, ${IDEMPOTENCY.header.toLowerCase()}`,
    "access-control-max-age": "86400",
    vary: "access-control-request-headers",
  };
}
