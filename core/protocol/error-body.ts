import { type ErrorCode, errorName, isUnpaid, type ServiceError } from "../domain/errors.js";
import type { ErrorBody, OpenAiErrorBody } from "./catalog-schemas.js";
import { HTTP_STATUS, publicDetail } from "./error-status.js";
import type { ErrorEvent } from "./transcription-schemas.js";

/** Error codes that OpenAI clients check; other failures keep our names. */
const OPENAI_CODES: Partial<Record<ErrorCode, string>> = {
  KEY_INVALID: "invalid_api_key",
  OUT_OF_CREDITS: "insufficient_quota",
  KEY_BUDGET_EXCEEDED: "insufficient_quota",
  TOO_MANY_REQUESTS: "rate_limit_exceeded",
};

/** Error types by status; one of the two kinds of 429 has a separate type. */
const OPENAI_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

export function errorBody(error: ServiceError): ErrorBody {
  return { detail: publicDetail(error) };
}

/** Body of an error event, which is sent after the response's status. */
export function errorEventBody(error: ServiceError): ErrorEvent {
  const { code } = error;
  return { code: errorName(code), ...errorBody(error), status: HTTP_STATUS[code] };
}

/** The error body for OpenAI clients. @see https://platform.openai.com/docs/guides/error-codes */
export function openAiErrorBody(error: ServiceError): OpenAiErrorBody {
  return { ...errorBody(error), error: openAiError(error) };
}

/** The error object without `detail`, which equals its `message`. */
export function openAiError(error: ServiceError): OpenAiErrorBody["error"] {
  const { code, param } = error;
  const { detail } = errorBody(error);
  return { message: detail, type: typeOf(code), param, code: OPENAI_CODES[code] ?? errorName(code) };
}

/** Errors that end live sessions and either are not a `ServiceError` or mean something else there. */
const LIVE_TYPES: Readonly<Record<string, string>> = {
  unauthorized: "authentication_error",
  too_fast: "rate_limit_error",
  too_many_messages: "rate_limit_error",
  internal: "server_error",
};

/** Type and code of a live session's error for OpenAI clients. */
export function openAiLiveError({
  code: name,
  retryable,
}: {
  readonly code: string;
  readonly retryable: boolean;
}): {
  readonly type: string;
  readonly code: string;
} {
  const known = ERROR_CODES.get(name);
  const type = LIVE_TYPES[name] ?? (known === undefined ? null : typeOf(known));
  const code = (known === undefined ? undefined : OPENAI_CODES[known]) ?? name;
  return { type: type ?? (retryable ? "server_error" : "invalid_request_error"), code };
}

const ERROR_CODES: ReadonlyMap<string, ErrorCode> = new Map(
  Object.keys(HTTP_STATUS).map((code) => [errorName(code as ErrorCode), code as ErrorCode]),
);

function typeOf(code: ErrorCode): string {
  if (isUnpaid(code)) return "insufficient_quota";
  const status = HTTP_STATUS[code];
  return OPENAI_TYPES[status] ?? (status >= 500 ? "server_error" : "invalid_request_error");
}
