import { CLOSE } from "../../core/domain/close-codes.js";
import { ApiError, ConnectionError, type DauysError, LiveError, RequestTimeoutError } from "./errors.js";
import type { LiveMessage } from "./types.js";

/** How one live socket ended. */
export interface LiveEnding {
  readonly closeCode: number;
  readonly reason: string;
  /** The error that broke the socket, where it told one. */
  readonly cause?: unknown;
  /** The `error` message before it. */
  readonly error: Extract<LiveMessage, { readonly type: "error" }> | null;
  readonly done: Extract<LiveMessage, { readonly type: "done" }> | null;
  readonly requestId: string | null;
}

/** Told by the socket itself: a proxy or a page goes away, and a connection that broke without a word. */
const GOING_AWAY = 1001;
export const BROKEN = 1006;
/** Where the service fails, stops or is full, and where we were suspended, another socket may do better. */
const TRANSIENT_CODES: readonly number[] = [
  ...[GOING_AWAY, BROKEN],
  ...[CLOSE.internal, CLOSE.goingAway, CLOSE.noCapacity, CLOSE.idle, CLOSE.storeAway],
];

/** Whether another socket may go on where this one ended. */
export function canReconnect({ closeCode, error }: LiveEnding): boolean {
  if (error?.code === "out_of_credits") return false;
  return error?.retryable === true || TRANSIENT_CODES.includes(closeCode);
}

/** What a caller is told when nothing goes on after it. */
export function endingError({ closeCode, reason, cause, error, requestId }: LiveEnding): DauysError {
  if (closeCode === BROKEN && error === null) {
    return new ConnectionError(`Cannot reach live transcription: ${reason}`, { cause });
  }
  const code = error?.code ?? "closed";
  const detail = error?.detail ?? `the service closed the session: ${reason}`;
  if (closeCode >= CLOSE.badRequest && closeCode < 4600) {
    return new ApiError({ status: closeCode - 4000, code, detail, requestId, retryAfterMs: null });
  }
  return new LiveError(code, detail, { closeCode, requestId });
}

/** Whether what kept a socket from being opened, a token that could not be had among it, may pass. */
export function mayHeal(thrown: unknown): thrown is DauysError {
  if (thrown instanceof ApiError) return thrown.retryAfterMs !== null || thrown.status >= 502;
  return thrown instanceof ConnectionError || thrown instanceof RequestTimeoutError;
}
