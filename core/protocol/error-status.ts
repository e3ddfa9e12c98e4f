import { CLOSE } from "../domain/close-codes.js";
import { type ErrorCode, errorName } from "../domain/errors.js";

/** HTTP status of each expected failure. 499 is never sent, because the client has left. */
export const HTTP_STATUS = {
  INVALID_REQUEST: 400,
  UNKNOWN_PARAMETER: 400,
  TEXT_REQUIRED: 400,
  TEXT_TOO_LONG: 400,
  NOTHING_TO_SAY: 400,
  UNKNOWN_MODEL: 404,
  UNKNOWN_VOICE: 404,
  UNSUPPORTED_FORMAT: 400,
  NO_AUDIO: 400,
  AUDIO_UNREADABLE: 400,
  AUDIO_TOO_SHORT: 400,
  AUDIO_TOO_LONG: 413,
  BODY_TOO_LARGE: 413,
  BODY_TOO_SLOW: 408,
  URL_FETCH_FAILED: 400,
  KEY_INVALID: 401,
  OUT_OF_CREDITS: 429,
  TOO_MANY_REQUESTS: 429,
  TOO_FAST: 429,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  IDEMPOTENCY_KEY_IN_USE: 409,
  IDEMPOTENCY_KEY_REUSED: 422,
  AUTH_UNAVAILABLE: 503,
  ENGINE_BUSY: 503,
  STORAGE_FULL: 503,
  WORKER_LOST: 503,
  MODEL_BROKEN: 500,
  CANCELLED: 499,
  SHUTTING_DOWN: 503,
  INTERNAL: 500,
} as const satisfies Record<ErrorCode, number>;

/** Close code of a live socket for each expected failure. */
export const CLOSE_CODE = {
  INVALID_REQUEST: CLOSE.badRequest,
  UNKNOWN_PARAMETER: CLOSE.badRequest,
  TEXT_REQUIRED: CLOSE.badRequest,
  TEXT_TOO_LONG: CLOSE.badRequest,
  NOTHING_TO_SAY: CLOSE.badRequest,
  UNKNOWN_MODEL: CLOSE.badRequest,
  UNKNOWN_VOICE: CLOSE.badRequest,
  UNSUPPORTED_FORMAT: CLOSE.badRequest,
  NO_AUDIO: CLOSE.badRequest,
  AUDIO_UNREADABLE: CLOSE.badRequest,
  AUDIO_TOO_SHORT: CLOSE.badRequest,
  AUDIO_TOO_LONG: CLOSE.tooLong,
  BODY_TOO_LARGE: CLOSE.messageTooLong,
  BODY_TOO_SLOW: CLOSE.badRequest,
  URL_FETCH_FAILED: CLOSE.badRequest,
  KEY_INVALID: CLOSE.unauthorized,
  OUT_OF_CREDITS: CLOSE.outOfCredits,
  TOO_MANY_REQUESTS: CLOSE.outOfCredits,
  TOO_FAST: CLOSE.badRequest,
  NOT_FOUND: CLOSE.badRequest,
  METHOD_NOT_ALLOWED: CLOSE.badRequest,
  IDEMPOTENCY_KEY_IN_USE: CLOSE.badRequest,
  IDEMPOTENCY_KEY_REUSED: CLOSE.badRequest,
  AUTH_UNAVAILABLE: CLOSE.storeAway,
  ENGINE_BUSY: CLOSE.noCapacity,
  STORAGE_FULL: CLOSE.noCapacity,
  WORKER_LOST: CLOSE.internal,
  MODEL_BROKEN: CLOSE.internal,
  CANCELLED: CLOSE.internal,
  SHUTTING_DOWN: CLOSE.goingAway,
  INTERNAL: CLOSE.internal,
} as const satisfies Record<ErrorCode, number>;

/** Seconds after which a client may retry; other failures are permanent. */
const RETRY_AFTER_S: Partial<Record<ErrorCode, number>> = {
  TOO_MANY_REQUESTS: 1,
  IDEMPOTENCY_KEY_IN_USE: 2,
  AUTH_UNAVAILABLE: 2,
  ENGINE_BUSY: 2,
  STORAGE_FULL: 10,
  WORKER_LOST: 1,
  SHUTTING_DOWN: 5,
};

/** Returns whether the same request may succeed later. */
export function isRetryable(code: ErrorCode): boolean {
  return code in RETRY_AFTER_S;
}

/** Headers with the name of a failure, and whether to retry. */
export function errorHeaders(code: ErrorCode): Record<string, string> {
  const headers: Record<string, string> = { "x-svc-error": errorName(code) };
  const retryAfterS = RETRY_AFTER_S[code];
  if (retryAfterS !== undefined) headers["retry-after"] = String(retryAfterS);
  // OpenAI's clients retry every 429 without this header, and a retry cannot create credits.
  if (code === "OUT_OF_CREDITS") headers["x-should-retry"] = "false";
  // Do not wait for the rest of the body.
  if (code === "BODY_TOO_SLOW") headers["connection"] = "close";
  if (code === "KEY_INVALID") headers["www-authenticate"] = "Bearer";
  return headers;
}

/** Detail for the client; internal errors are described only in the log. */
export function publicDetail(error: { readonly code: ErrorCode; readonly message: string }): string {
  if (error.code === "INTERNAL") return "internal error";
  if (error.code === "MODEL_BROKEN") return "the model cannot be used at the moment";
  return error.message;
}
