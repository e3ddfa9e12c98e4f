import type { ErrorCode, ServiceError } from "../domain/errors.js";
import type { DeepgramErrorBody } from "./catalog-schemas.js";
import { HTTP_STATUS, publicDetail } from "./error-status.js";

/** Paths whose errors are in Deepgram's shape. */
const PATHS = ["/v1/listen", "/v1/speak", "/v2/listen"];

/** Deepgram's codes for failures; other failures use the name of their status. */
const CODES: Partial<Record<ErrorCode, string>> = {
  KEY_INVALID: "INVALID_AUTH",
  ENDPOINT_NOT_ALLOWED: "INSUFFICIENT_PERMISSIONS",
  OUT_OF_CREDITS: "ASR_PAYMENT_REQUIRED",
  KEY_BUDGET_EXCEEDED: "ASR_PAYMENT_REQUIRED",
  BODY_TOO_SLOW: "SLOW_UPLOAD",
  URL_FETCH_FAILED: "REMOTE_CONTENT_ERROR",
};
const BY_STATUS: Readonly<Record<number, string>> = {
  404: "NOT_FOUND",
  413: "PAYLOAD_TOO_LARGE",
  429: "TOO_MANY_REQUESTS",
  500: "INTERNAL_SERVER_ERROR",
  503: "SERVICE_UNAVAILABLE",
};
const OTHER = "Bad Request";

/** Returns whether errors on a path have Deepgram's members in addition to `detail`. */
export function isDeepgramPath(path: string): boolean {
  return PATHS.includes(path);
}

/** The error body for Deepgram's clients. @see https://developers.deepgram.com/docs/errors */
export function deepgramErrorBody(error: ServiceError, requestId: string): DeepgramErrorBody {
  const detail = publicDetail(error);
  return { detail, err_code: deepgramCode(error.code), err_msg: detail, request_id: requestId };
}

function deepgramCode(code: ErrorCode): string {
  return CODES[code] ?? BY_STATUS[HTTP_STATUS[code]] ?? OTHER;
}
