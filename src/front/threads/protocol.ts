import { type ErrorCode, ServiceError } from "../../../core/domain/errors.js";
import type { ClosingMessage, FrontLimits, Headers } from "../../../core/ports/front.js";

/** Everything a front thread is started with. */
export interface FrontThreadData {
  readonly host: string;
  readonly port: number;
  readonly limits: FrontLimits;
  /** Descriptors of the process that are no connections; null where the system does not say. */
  readonly ownDescriptors: number | null;
  /** What clients' sockets said and how they ended, as records of `SOCKET_RECORD`: a ring written by the thread. */
  readonly inbox: SharedArrayBuffer;
  /** Per socket the bytes of messages that its client has taken, modulo 2^32: Int32 cells, written by the thread. */
  readonly taken: SharedArrayBuffer;
}

/** Kinds of records about sockets; their channel is the socket's id. */
export const SOCKET_RECORD = {
  /** Holds the number of the socket's cell among those of taken bytes, 32 bits, little-endian. */
  opened: 1,
  text: 2,
  binary: 3,
  /** Holds the close code, 32 bits, little-endian, and then the reason. */
  closed: 4,
  /** Holds nothing. */
  flooded: 5,
} as const;

/** Sockets of one thread at once: what has no cell is refused. */
export const SOCKET_CELLS = 2 ** 18;

/** A request without its body and its end. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remoteAddress: string;
  readonly contentLength: number | null;
  readonly malformed: string | null;
  readonly headers: ReadonlyMap<string, string>;
}

/** A failure as it crosses threads. */
export interface WireError {
  /** Null for what is no `ServiceError`. */
  readonly code: ErrorCode | null;
  readonly message: string;
  readonly stack: string | undefined;
}

export type WireDecision =
  | { readonly type: "refuse"; readonly status: number; readonly headers: Headers; readonly body: string }
  | {
      readonly type: "accept";
      readonly protocol: string | null;
      readonly headers: Headers;
      readonly floodClosingMessage?: ClosingMessage | undefined;
    };

export type SocketOrder =
  | { readonly type: "text"; readonly socket: number; readonly text: string }
  | { readonly type: "binary"; readonly socket: number; readonly bytes: Uint8Array }
  | { readonly type: "close"; readonly socket: number; readonly code: number; readonly reason: string }
  | { readonly type: "terminate"; readonly socket: number };

/** To one request and its answer. */
export type ExchangeOrder =
  /** The next chunk of the body is wanted; answered by `chunk`. */
  | { readonly type: "pull"; readonly id: number }
  | { readonly type: "start"; readonly id: number; readonly status: number; readonly headers: Headers }
  /** Answered by `sent`, as is `end`. */
  | { readonly type: "write"; readonly id: number; readonly chunk: Uint8Array }
  | { readonly type: "end"; readonly id: number; readonly chunk: Uint8Array | null }
  | { readonly type: "reset"; readonly id: number }
  /** The handler is through: nothing more will be said about this request. */
  | { readonly type: "done"; readonly id: number };

export type ToFrontThread =
  | ExchangeOrder
  | { readonly type: "sockets"; readonly orders: readonly SocketOrder[] }
  | { readonly type: "decided"; readonly id: number; readonly decision: WireDecision }
  /** Take no new connections, wait so long for what runs, cut the rest and end. */
  | { readonly type: "close"; readonly graceMs: number };

/** About one request and its answer, or about the upgrade of that id. */
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
  /** There are records in the inbox. */
  | { readonly type: "bell" }
  /** Something went wrong in the thread, which goes on. */
  | { readonly type: "report"; readonly error: WireError }
  /** The thread ends. */
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
