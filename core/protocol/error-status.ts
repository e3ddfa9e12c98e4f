import { CLOSE } from "../domain/close-codes.js";
import { type ErrorCode, errorName, isUnpaid } from "../domain/errors.js";

/**
 * HTTP status, and close code of live sockets, for each expected failure. 499 is never sent, because the
 * client has left.
 */
const EDGES = {
  INVALID_REQUEST: [400, CLOSE.badRequest],
  UNKNOWN_PARAMETER: [400, CLOSE.badRequest],
  TEXT_REQUIRED: [400, CLOSE.badRequest],
  TEXT_TOO_LONG: [400, CLOSE.badRequest],
  NOTHING_TO_SAY: [400, CLOSE.badRequest],
  UNKNOWN_MODEL: [404, CLOSE.badRequest],
  UNKNOWN_VOICE: [404, CLOSE.badRequest],
  UNSUPPORTED_FORMAT: [400, CLOSE.badRequest],
  DIARIZATION_UNAVAILABLE: [400, CLOSE.badRequest],
  NO_AUDIO: [400, CLOSE.badRequest],
  AUDIO_UNREADABLE: [400, CLOSE.badRequest],
  AUDIO_TOO_SHORT: [400, CLOSE.badRequest],
  AUDIO_TOO_LONG: [413, CLOSE.tooLong],
  BODY_TOO_LARGE: [413, CLOSE.messageTooLong],
  BODY_TOO_SLOW: [408, CLOSE.badRequest],
  URL_FETCH_FAILED: [400, CLOSE.badRequest],
  KEY_INVALID: [401, CLOSE.unauthorized],
  ENDPOINT_NOT_ALLOWED: [403, CLOSE.forbidden],
  OUT_OF_CREDITS: [429, CLOSE.outOfCredits],
  KEY_BUDGET_EXCEEDED: [429, CLOSE.outOfCredits],
  TOO_MANY_REQUESTS: [429, CLOSE.outOfCredits],
  TOO_FAST: [429, CLOSE.badRequest],
  NOT_FOUND: [404, CLOSE.badRequest],
  METHOD_NOT_ALLOWED: [405, CLOSE.badRequest],
  JOB_NOT_DONE: [409, CLOSE.badRequest],
  IDEMPOTENCY_KEY_IN_USE: [409, CLOSE.badRequest],
  IDEMPOTENCY_KEY_REUSED: [422, CLOSE.badRequest],
  AUTH_UNAVAILABLE: [503, CLOSE.storeAway],
  ENGINE_BUSY: [503, CLOSE.noCapacity],
  STORAGE_FULL: [503, CLOSE.noCapacity],
  WORKER_LOST: [503, CLOSE.internal],
  MODEL_BROKEN: [500, CLOSE.internal],
  CANCELLED: [499, CLOSE.internal],
  SHUTTING_DOWN: [503, CLOSE.goingAway],
  INTERNAL: [500, CLOSE.internal],
} as const satisfies Record<ErrorCode, readonly [httpStatus: number, closeCode: number]>;

export const HTTP_STATUS = edge(0);
export const CLOSE_CODE = edge(1);

function edge(column: 0 | 1): Readonly<Record<ErrorCode, number>> {
  const rows = Object.entries(EDGES).map(([code, row]) => [code, row[column]]);
  return Object.fromEntries(rows) as Record<ErrorCode, number>;
}

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

/** Headers that name a failure, and whether to retry. */
export function errorHeaders(code: ErrorCode): Record<string, string> {
  const headers: Record<string, string> = { "x-svc-error": errorName(code) };
  const retryAfterS = RETRY_AFTER_S[code];
  if (retryAfterS !== undefined) headers["retry-after"] = String(retryAfterS);
  // OpenAI clients retry every 429 without this header, but a retry cannot create credits.
  if (isUnpaid(code)) headers["x-should-retry"] = "false";
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
