import { ApiError, ConnectionError, type DauysError, LiveError, RequestTimeoutError } from "./errors.js";
import type { LiveMessage } from "./types.js";

/** How one live socket ended. */
export interface LiveEnding {
  readonly closeCode: number;
  readonly reason: string;
  /** The `error` message before it. */
  readonly error: Extract<LiveMessage, { readonly type: "error" }> | null;
  readonly done: Extract<LiveMessage, { readonly type: "done" }> | null;
  readonly requestId: string | null;
}

/** 1001 and 1012: it is going away; 1006: it broke; 1011 and 1013: it failed or is full; 4408: we were suspended. */
const TRANSIENT_CODES = [1001, 1006, 1011, 1012, 1013, 4408, 4503];

/** Whether another socket may go on where this one ended. */
export function canReconnect({ closeCode, error }: LiveEnding): boolean {
  if (error?.code === "out_of_credits") return false;
  return error?.retryable === true || TRANSIENT_CODES.includes(closeCode);
}

/** What a caller is told when nothing goes on after it. */
export function endingError({ closeCode, reason, error, requestId }: LiveEnding): DauysError {
  if (closeCode === 1006 && error === null) {
    return new ConnectionError(`Cannot reach live transcription: ${reason}`);
  }
  const code = error?.code ?? "closed";
  const detail = error?.detail ?? `the service closed the session: ${reason}`;
  if (closeCode >= 4400 && closeCode < 4600) {
    return new ApiError({ status: closeCode - 4000, code, detail, requestId, retryAfterMs: null });
  }
  return new LiveError(code, detail, { closeCode, requestId });
}

/** Whether what kept a socket from being opened, a token that could not be had among it, may pass. */
export function mayHeal(thrown: unknown): thrown is DauysError {
  if (thrown instanceof ApiError) return thrown.retryAfterMs !== null || thrown.status >= 502;
  return thrown instanceof ConnectionError || thrown instanceof RequestTimeoutError;
}
