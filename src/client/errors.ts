/** Whatever the client itself reports. An aborted call rejects with its signal's reason instead. */
export class DauysError extends Error {
  override readonly name: string = "DauysError";
  /** A stable name in snake_case: the service's `X-Svc-Error`, or one of the client's own. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface ApiErrorParts {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
}

/** The service refused. */
export class ApiError extends DauysError {
  override readonly name = "ApiError";
  /** HTTP status; of a live session, its close code less 4000 where it is one. */
  readonly status: number;
  /** The service's own words. */
  readonly detail: string;
  /** `x-request-id`, to name in a report; null when the answer did not come from the service, or over a socket. */
  readonly requestId: string | null;
  /** Milliseconds after which the service would take another try; null when it did not say. */
  readonly retryAfterMs: number | null;

  constructor({ status, code, detail, requestId, retryAfterMs }: ApiErrorParts) {
    super(code, `${detail} (HTTP ${status})`);
    this.status = status;
    this.detail = detail;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The service could not be reached, or the connection broke before the answer was complete. */
export class ConnectionError extends DauysError {
  override readonly name = "ConnectionError";

  constructor(message: string, options?: ErrorOptions) {
    super("connection_failed", message, options);
  }
}

/** The service took longer than the call allows. */
export class RequestTimeoutError extends DauysError {
  override readonly name = "RequestTimeoutError";
  readonly timeoutMs: number;

  constructor(timeoutMs: number, waitedFor: string) {
    super("timeout", `${waitedFor} did not come within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/** A live session ended without its `done`. */
export class LiveError extends DauysError {
  override readonly name = "LiveError";
  /** Close code of the socket; null when the client gave up by itself. */
  readonly closeCode: number | null;
  readonly detail: string;
  /** `x-request-id` of the session; null when it never was ready. */
  readonly requestId: string | null;

  constructor(
    code: string,
    detail: string,
    { closeCode, requestId }: { readonly closeCode: number | null; readonly requestId: string | null },
    options?: ErrorOptions,
  ) {
    super(code, closeCode === null ? detail : `${detail} (closed with ${closeCode})`, options);
    this.detail = detail;
    this.closeCode = closeCode;
    this.requestId = requestId;
  }
}
