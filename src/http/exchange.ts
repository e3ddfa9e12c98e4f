import { asServiceError, errorName, type ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Departure, FrontRequest, FrontResponse, Headers } from "../../core/ports/front.js";
import { NO_SPAN, type Span } from "../../core/ports/span.js";
import type { ErrorBody } from "../../core/protocol/catalog-schemas.js";
import { deepgramErrorBody, isDeepgramPath } from "../../core/protocol/deepgram-errors.js";
import {
  ANSWER_HEADERS,
  IDEMPOTENCY,
  isOpenAiPath,
  OPENAI_CLIENT_HEADER,
} from "../../core/protocol/endpoints.js";
import { errorBody, openAiErrorBody } from "../../core/protocol/error-body.js";
import { errorHeaders, HTTP_STATUS } from "../../core/protocol/error-status.js";

/** Shorter waits for a model are not reported to the client. */
const COLD_START_FROM_MS = 1_000;

/** Copies a response as it is sent. Its methods never fail. */
export interface AnswerListener {
  started(status: number, headers: Headers): void;
  written(chunk: Uint8Array): Promise<void>;
  /** Called before the last bytes are sent. They wait until this settles. */
  completed(): Promise<void>;
}

/** One request and its response, with the headers that every response carries. */
export class Exchange {
  readonly request: FrontRequest;
  readonly requestId: string;
  readonly log: Log;
  readonly #response: FrontResponse;
  route: string | null = null;
  /** The request's trace span, once its route is known. */
  span: Span = NO_SPAN;
  errorName: string | null = null;
  listener: AnswerListener | null = null;
  /**
   * Renders the error that ends a started response. If absent, or if it returns null, the connection is
   * reset.
   */
  lateFailure: ((error: ServiceError) => Uint8Array | null) | null = null;
  /** True if only pages of the same origin may read the response. */
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

  get status(): number | null {
    return this.#status;
  }

  get isOver(): boolean {
    return this.#response.isOver;
  }

  onEnd(release: () => void): void {
    this.#releases.push(release);
  }

  /**
   * Adds to the model waiting time that the response reports. Has no effect once the response has started.
   */
  waitedForModel(waitedMs: number): void {
    this.#modelWaitMs += waitedMs;
  }

  ended(): void {
    for (const release of this.#releases.splice(0)) release();
  }

  /** Adds headers to a successful response. */
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

  /** Sends progress bytes, which do not become part of the stored response. */
  writeAside(chunk: Uint8Array): Promise<void> {
    return this.#response.write(chunk);
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

  /** Responds with an error. A response that has started ends with `lateFailure`, or is reset. */
  async fail(thrown: unknown, headers: Headers = {}): Promise<void> {
    const error = asServiceError(thrown);
    if (this.isOver) return;
    this.errorName = errorName(error.code);
    if (HTTP_STATUS[error.code] >= 500) this.log.error({ err: thrown, code: error.code }, "request failed");
    if (this.#response.hasStarted) {
      const last = this.lateFailure?.(error) ?? null;
      return last === null ? this.#response.reset() : this.#response.end(last);
    }
    await this.json(HTTP_STATUS[error.code], this.#errorBody(error), {
      ...errorHeaders(error.code),
      ...headers,
    });
  }

  #errorBody(error: ServiceError): ErrorBody {
    if (isDeepgramPath(this.request.path)) return deepgramErrorBody(error, this.requestId);
    return this.#readsOpenAi() ? openAiErrorBody(error) : errorBody(error);
  }

  /** Returns whether this is an OpenAI client on an OpenAI path. */
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

/** Sent with every response, so that browsers may call the API from any origin, without cookies. */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": EXPOSED,
};

/** Headers for OPTIONS. They repeat the requested headers, since `*` does not cover Authorization. */
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
