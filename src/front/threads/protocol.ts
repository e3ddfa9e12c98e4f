import { type ErrorCode, ServiceError } from "../../../core/domain/errors.js";
import type { FrontLimits, FrontRequest, Headers, UpgradeDecision } from "../../../core/ports/front.js";

export interface FrontThreadData {
  readonly host: string;
  readonly port: number;
  readonly limits: FrontLimits;
  /** Descriptors of the process that are not connections; null if the system does not report it. */
  readonly ownDescriptors: number | null;
  /** A ring of `SOCKET_RECORD`s, written by the thread: messages of sockets and their ends. */
  readonly inbox: SharedArrayBuffer;
  /** Int32 cells, written by the thread: the bytes that each socket's client has taken, modulo 2^32. */
  readonly taken: SharedArrayBuffer;
}

/** Kinds of records; a record's channel is the socket's id. */
export const SOCKET_RECORD = {
  /** Int32LE: the index of the socket's cell in `taken`. */
  opened: 1,
  text: 2,
  binary: 3,
  /** Int32LE close code, then the reason. */
  closed: 4,
  /** Empty. */
  flooded: 5,
} as const;

/** The most sockets of one thread: a socket without a cell is rejected. */
export const SOCKET_CELLS = 2 ** 18;

export interface RequestHead extends Omit<FrontRequest, "query" | "body" | "signal" | "header"> {
  readonly query: string;
}

export interface WireError {
  /** Code of a `ServiceError`; null for other errors. */
  readonly code: ErrorCode | null;
  readonly message: string;
  readonly stack: string | undefined;
}

/** A decision without its callback, which stays in the main thread. */
export type WireDecision =
  | Extract<UpgradeDecision, { readonly type: "refuse" }>
  | Omit<Extract<UpgradeDecision, { readonly type: "accept" }>, "open">;

export type SocketOrder =
  | { readonly type: "text"; readonly socket: number; readonly text: string }
  | { readonly type: "binary"; readonly socket: number; readonly bytes: Uint8Array }
  | { readonly type: "close"; readonly socket: number; readonly code: number; readonly reason: string }
  | { readonly type: "terminate"; readonly socket: number };

/** Main thread to front thread, about one request and its response. */
export type ExchangeOrder =
  /** Requests the next chunk of the body; answered by `chunk`. */
  | { readonly type: "pull"; readonly id: number }
  | { readonly type: "start"; readonly id: number; readonly status: number; readonly headers: Headers }
  /** Answered by `sent`, as is `end`. */
  | { readonly type: "write"; readonly id: number; readonly chunk: Uint8Array }
  | { readonly type: "end"; readonly id: number; readonly chunk: Uint8Array | null }
  | { readonly type: "reset"; readonly id: number }
  /** The handler has returned: no further orders follow. */
  | { readonly type: "done"; readonly id: number };

export type ToFrontThread =
  | ExchangeOrder
  | { readonly type: "sockets"; readonly orders: readonly SocketOrder[] }
  | { readonly type: "decided"; readonly id: number; readonly decision: WireDecision }
  /** Accept no new connections, wait up to `graceMs` for running ones, close the rest, and end. */
  | { readonly type: "close"; readonly graceMs: number };

/** Front thread to main thread, about one request or upgrade. */
export type ExchangeNews =
  | { readonly type: "aborted"; readonly id: number }
  /** Bytes of the body, null at its end. */
  | { readonly type: "chunk"; readonly id: number; readonly bytes: Uint8Array | null }
  | { readonly type: "no-chunk"; readonly id: number; readonly error: WireError }
  | {
      readonly type: "sent";
      readonly id: number;
      readonly isOver: boolean;
      readonly error: WireError | null;
    };

export type FromFrontThread =
  | ExchangeNews
  | { readonly type: "ready" }
  | { readonly type: "request"; readonly id: number; readonly head: RequestHead }
  | { readonly type: "upgrade"; readonly id: number; readonly head: RequestHead }
  | { readonly type: "bell" }
  /** An error in a thread that continues. */
  | { readonly type: "report"; readonly error: WireError }
  /** An error that ends the thread. */
  | { readonly type: "failed"; readonly error: WireError };

export function toWireError(thrown: unknown): WireError {
  if (thrown instanceof ServiceError)
    return { code: thrown.code, message: thrown.message, stack: thrown.stack };
  if (thrown instanceof Error) return { code: null, message: thrown.message, stack: thrown.stack };
  return { code: null, message: String(thrown), stack: undefined };
}

export function fromWireError({ code, message, stack }: WireError): Error {
  const error = code === null ? new Error(message) : new ServiceError(code, message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
