/** Base class of the client's errors. An aborted call rejects with the reason of its signal instead. */
export class DauysError extends Error {
  override readonly name: string = "DauysError";
  /** A stable name in snake_case: the service's `X-Svc-Error`, or one that the client defines. */
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

/** The service rejected the request. */
export class ApiError extends DauysError {
  override readonly name = "ApiError";
  /** HTTP status; for a live session, its close code minus 4000. */
  readonly status: number;
  readonly detail: string;
  /**
   * `x-request-id`, for bug reports; null if the response is not from the service, or the error came over a
   * socket.
   */
  readonly requestId: string | null;
  /** Milliseconds to wait before a retry; null if the service did not specify a time. */
  readonly retryAfterMs: number | null;

  constructor({ status, code, detail, requestId, retryAfterMs }: ApiErrorParts) {
    super(code, `${detail} (HTTP ${status})`);
    this.status = status;
    this.detail = detail;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The service could not be reached, or the connection was lost before the response was complete. */
export class ConnectionError extends DauysError {
  override readonly name = "ConnectionError";

  constructor(message: string, options?: ErrorOptions) {
    super("connection_failed", message, options);
  }
}

/** The call took longer than its timeout. */
export class RequestTimeoutError extends DauysError {
  override readonly name = "RequestTimeoutError";
  readonly timeoutMs: number;

  constructor(timeoutMs: number, awaited: string) {
    super("timeout", `timed out after ${timeoutMs} ms waiting for ${awaited}`);
    this.timeoutMs = timeoutMs;
  }
}

/** A live session ended without `done`. */
export class LiveError extends DauysError {
  override readonly name = "LiveError";
  /** Close code of the socket; null if the client ended the session itself. */
  readonly closeCode: number | null;
  readonly detail: string;
  /** `x-request-id` of the session; null if it was never ready. */
  readonly requestId: string | null;

  constructor(
    code: string,
    detail: string,
    { closeCode, requestId }: { readonly closeCode: number | null; readonly requestId: string | null },
    options?: ErrorOptions,
  ) {
    super(code, closeCode === null ? detail : `${detail} (close code ${closeCode})`, options);
    this.detail = detail;
    this.closeCode = closeCode;
    this.requestId = requestId;
  }
}
