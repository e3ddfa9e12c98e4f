/** Codes of all expected failures. Each interface maps them in one table; a missing row does not compile. */
export type ErrorCode =
  | "INVALID_REQUEST"
  | "UNKNOWN_PARAMETER"
  | "TEXT_REQUIRED"
  | "TEXT_TOO_LONG"
  | "NOTHING_TO_SAY"
  | "UNKNOWN_MODEL"
  | "UNKNOWN_VOICE"
  | "UNSUPPORTED_FORMAT"
  | "DIARIZATION_UNAVAILABLE"
  | "NO_AUDIO"
  | "AUDIO_UNREADABLE"
  | "AUDIO_TOO_SHORT"
  | "AUDIO_TOO_LONG"
  | "BODY_TOO_LARGE"
  | "BODY_TOO_SLOW"
  | "URL_FETCH_FAILED"
  | "KEY_INVALID"
  | "ENDPOINT_NOT_ALLOWED"
  | "OUT_OF_CREDITS"
  | "KEY_BUDGET_EXCEEDED"
  | "TOO_MANY_REQUESTS"
  | "TOO_FAST"
  | "NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "JOB_NOT_DONE"
  | "IDEMPOTENCY_KEY_IN_USE"
  | "IDEMPOTENCY_KEY_REUSED"
  | "AUTH_UNAVAILABLE"
  | "ENGINE_BUSY"
  | "STORAGE_FULL"
  | "WORKER_LOST"
  | "MODEL_BROKEN"
  | "CANCELLED"
  | "SHUTTING_DOWN"
  | "INTERNAL";

interface ServiceErrorOptions extends ErrorOptions {
  readonly param?: string | undefined;
}

/** An expected failure; the message states the rule and the received value. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  /** Name of the field or parameter that broke the rule; null if it is not a single one. */
  readonly param: string | null;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.param = options.param ?? null;
  }
}

/** Returns the error for a request that breaks a rule. @param param the field or parameter, if it is one */
export function invalid(message: string, param?: string): ServiceError {
  return new ServiceError("INVALID_REQUEST", message, { param });
}

/** Returns the stable name of a failure, used in `X-Svc-Error`, live `error` messages and metrics. */
export function errorName(code: ErrorCode): string {
  return code.toLowerCase();
}

/** Returns whether credits or the key's budget were too low: a retry cannot help until there are more. */
export function isUnpaid(code: ErrorCode): boolean {
  return code === "OUT_OF_CREDITS" || code === "KEY_BUDGET_EXCEEDED";
}

/** Errors of a disk that is full, over its quota, or read-only. */
const NO_STORAGE = ["ENOSPC", "EDQUOT", "EROFS"];

/** Converts anything thrown to a `ServiceError` with its cause; unknown errors become `INTERNAL`. */
export function asServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const isStorageFull =
    thrown instanceof Error && "code" in thrown && NO_STORAGE.includes(String(thrown.code));
  return isStorageFull
    ? new ServiceError("STORAGE_FULL", "the service cannot write to its disk, try again later", {
        cause: thrown,
      })
    : new ServiceError("INTERNAL", "internal error", { cause: thrown });
}

export function shuttingDown(): ServiceError {
  return new ServiceError("SHUTTING_DOWN", "the service is stopping");
}
