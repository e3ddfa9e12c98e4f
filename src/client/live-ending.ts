import { CLOSE } from "../../core/domain/close-codes.js";
import { ApiError, ConnectionError, type DauysError, LiveError, RequestTimeoutError } from "./errors.js";
import type { LiveMessage } from "./live-types.js";

export interface LiveEnding {
  readonly closeCode: number;
  readonly reason: string;
  /** The error that broke the socket, if the platform reported one. */
  readonly cause?: unknown;
  readonly error: Extract<LiveMessage, { readonly type: "error" }> | null;
  readonly done: Extract<LiveMessage, { readonly type: "done" }> | null;
  readonly requestId: string | null;
}

/** Sent by a proxy, or by a page that is being closed. */
const GOING_AWAY = 1001;
/** Reported by the platform if a connection broke without a close message. */
export const ABNORMAL_CLOSE = 1006;
/**
 * Another connection may succeed: the service failed, is stopping or is full, or this machine was suspended.
 */
const TRANSIENT_CODES: readonly number[] = [
  ...[GOING_AWAY, ABNORMAL_CLOSE],
  ...[CLOSE.internal, CLOSE.goingAway, CLOSE.noCapacity, CLOSE.idle, CLOSE.storeAway],
];

/** Returns whether the session may continue over another connection. */
export function canReconnect({ closeCode, error }: LiveEnding): boolean {
  if (error?.code === "out_of_credits" || error?.code === "key_budget_exceeded") return false;
  return error?.retryable === true || TRANSIENT_CODES.includes(closeCode);
}

/** Returns the error to report if the session does not continue. */
export function endingError(
  { closeCode, reason, cause, error, requestId }: Omit<LiveEnding, "done">,
  service = "live transcription",
): DauysError {
  if (closeCode === ABNORMAL_CLOSE && error === null) {
    return new ConnectionError(`cannot reach ${service}: ${reason}`, { cause });
  }
  const code = error?.code ?? "closed";
  const detail = error?.detail ?? `the service closed the session: ${reason}`;
  if (closeCode >= CLOSE.badRequest && closeCode < 4600) {
    return new ApiError({ status: closeCode - 4000, code, detail, requestId, retryAfterMs: null });
  }
  return new LiveError(code, detail, { closeCode, requestId });
}

/** Returns whether opening a socket, or getting its token, may succeed later. */
export function isTransient(thrown: unknown): thrown is DauysError {
  if (thrown instanceof ApiError) return thrown.retryAfterMs !== null || thrown.status >= 502;
  return thrown instanceof ConnectionError || thrown instanceof RequestTimeoutError;
}
