/** Every expected failure has a code; each edge maps codes in one table and the compiler asks for a missing row. */
export type ErrorCode =
  | "INVALID_REQUEST"
  | "UNKNOWN_PARAMETER"
  | "TEXT_REQUIRED"
  | "TEXT_TOO_LONG"
  | "NOTHING_TO_SAY"
  | "UNKNOWN_MODEL"
  | "UNKNOWN_VOICE"
  | "UNSUPPORTED_FORMAT"
  | "NO_AUDIO"
  | "AUDIO_UNREADABLE"
  | "AUDIO_TOO_SHORT"
  | "AUDIO_TOO_LONG"
  | "BODY_TOO_LARGE"
  | "BODY_TOO_SLOW"
  | "URL_FETCH_FAILED"
  | "KEY_INVALID"
  | "OUT_OF_CREDITS"
  | "TOO_MANY_REQUESTS"
  | "TOO_FAST"
  | "NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
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
  /** Name of the field or parameter that broke the rule. */
  readonly param?: string | undefined;
}

/** An expected failure: the message names the action, the rule and the value. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  /** Name of the field or parameter that broke the rule; null where it is not one alone. */
  readonly param: string | null;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.param = options.param ?? null;
  }
}

/** The stable name of a failure: in `X-Svc-Error`, in live `error` messages, and in metrics. */
export function errorName(code: ErrorCode): string {
  return code.toLowerCase();
}

/** What the system says when a disk is full, over its quota, or not to be written to. */
const NO_STORAGE = ["ENOSPC", "EDQUOT", "EROFS"];

/** Turns whatever was thrown into a `ServiceError`, keeping the cause; unknown things become `INTERNAL`. */
export function asServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (thrown instanceof Error && "code" in thrown && NO_STORAGE.includes(String(thrown.code))) {
    return new ServiceError("STORAGE_FULL", "the service cannot write to its disk now: try again later", {
      cause: thrown,
    });
  }
  return new ServiceError("INTERNAL", "internal error", { cause: thrown });
}
