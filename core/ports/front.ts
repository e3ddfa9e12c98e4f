/** Header names in lower case. */
export type Headers = Readonly<Record<string, string>>;

/** One HTTP request as a handler sees it; the same for every adapter. */
export interface FrontRequest {
  /** Upper case. */
  readonly method: string;
  /** Percent-decoded, with its leading slash, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly remoteAddress: string;
  /** Null if unknown. */
  readonly contentLength: number | null;
  /**
   * Why the request is malformed (conflicting lengths, a path that does not decode), else null. Such a
   * request has no body, and its connection is closed after the answer.
   */
  readonly malformed: string | null;
  /**
   * The body as it arrives, with back-pressure. May be read once; chunks belong to the reader.
   * @throws {ServiceError} `CANCELLED` when the client leaves or stalls before the body is complete
   */
  readonly body: AsyncIterable<Uint8Array>;
  /**
   * Aborted when the client leaves before its answer is complete; with the reason `WORKER_LOST`, a
   * `ServiceError`, when we cut it off.
   */
  readonly signal: AbortSignal;
  /** By name in lower case; repeated headers are joined with commas. */
  readonly headers: ReadonlyMap<string, string>;
  /** Returns a header; case does not matter. */
  header(name: string): string | undefined;
}

/** Observes the sending of bytes, for code that must record it before the client can read them. */
export interface Departure {
  /** The last bytes are about to be handed to the operating system. */
  leaving(): void;
  /** The client reads slowly and they wait. `leaving` follows again, at the latest when they have left. */
  held(): void;
}

/** The answer to one request. A HEAD request gets the same calls, and no body is sent. */
export interface FrontResponse {
  /** Status and headers are set; they are sent with the first bytes of the body. */
  readonly hasStarted: boolean;
  /** Complete, reset, or given up by the client. */
  readonly isOver: boolean;
  /** With a `content-length` exactly that many bytes must follow, without one the body is chunked. */
  start(status: number, headers: Headers): void;
  /**
   * Sends bytes and resolves when more may follow: a slow client slows the writer down.
   * @throws {ServiceError} `CANCELLED` when the client has left or has read nothing for too long
   */
  write(chunk: Uint8Array, departure?: Departure): Promise<void>;
  /**
   * Completes the answer; without earlier writes `chunk` gives the length.
   * @throws {ServiceError} `CANCELLED` as in `write`
   */
  end(chunk?: Uint8Array, departure?: Departure): Promise<void>;
  /** Breaks the connection, so that the client cannot mistake a part for the whole answer. */
  reset(): void;
}

/** An open WebSocket. Calls after its end do nothing. */
export interface FrontSocket {
  /** Bytes that the client has not received yet. */
  readonly bufferedBytes: number;
  sendText(text: string): void;
  /** The bytes must not change afterwards, since they may be buffered. */
  sendBinary(bytes: Uint8Array): void;
  /** Closes after all messages. A client that does not receive them within a few seconds is cut off. */
  close(code: number, reason: string): void;
  /** Cuts the connection immediately. */
  terminate(): void;
}

/** Events for a socket's owner. `closed` is called exactly once, last. */
export interface SocketEvents {
  text(text: string): void;
  /**
   * The bytes are borrowed for the call. Short messages of a client that sends faster than real time may be
   * joined; empty ones never are.
   */
  binary(bytes: Uint8Array): void;
  /** The front has sent `floodClosing` and delivers nothing more; `closed` follows. At most once. */
  flooded?(): void;
  /** Code 1006 when the client disconnected without a closing handshake. */
  closed(code: number, reason: string): void;
}

/** The last messages to a client that floods its socket, and the close frame after them. */
export interface FloodClosing {
  readonly messages: readonly (string | Uint8Array)[];
  readonly code: number;
  readonly reason: string;
}

export type UpgradeDecision =
  | { readonly type: "refuse"; readonly status: number; readonly headers: Headers; readonly body: string }
  | {
      readonly type: "accept";
      /** One of the client's subprotocols, or null. */
      readonly protocol: string | null;
      /** Headers of the 101 answer. */
      readonly headers: Headers;
      /**
       * Sent by the front to a client that exceeds the front's message limit, when it stops delivering
       * messages and calls `flooded`. By default the front closes with 1008 and no message.
       */
      readonly floodClosing?: FloodClosing | undefined;
      /** Text messages carry audio, so the front's message limit counts them as binary. */
      readonly hasAudioInText?: boolean | undefined;
      /** Binary messages must not be joined, because their boundaries have a meaning. */
      readonly keepsMessages?: boolean | undefined;
      /** Called once the socket is open; returns the listener for its events. */
      readonly open: (socket: FrontSocket) => SocketEvents;
    };

/** Handlers of a front. If one throws, the front answers 500 or resets the connection, and continues. */
export interface FrontHandlers {
  /** Called for every request that is not an upgrade; does the routing. */
  request(request: FrontRequest, response: FrontResponse): Promise<void>;
  /** Accepts or rejects a WebSocket before it is opened. */
  upgrade(request: FrontRequest): Promise<UpgradeDecision>;
  /** Receives errors of handlers and of the front itself. */
  failed(error: unknown): void;
}

/** Minimum pace of a client that reads an answer, not counting time in which it waits for us. */
export interface ReaderPace {
  /** On average, after `graceMs`. */
  readonly leastBytesPerS: number;
  readonly graceMs: number;
}

/** Limits of one front; times in milliseconds. */
export interface FrontLimits {
  /** A longer WebSocket message closes the socket (1009). */
  readonly messageBytes: number;
  /** Timeout of a request body or a reader without progress. */
  readonly stallMs: number;
  readonly readerPace: ReaderPace;
  /** Timeout of a WebSocket's closing handshake. */
  readonly closingMs: number;
  /** Connections, WebSockets included, beyond which new ones are rejected. */
  readonly maxConnections: number;
}

export const DEFAULT_FRONT_LIMITS: FrontLimits = {
  messageBytes: 1 << 20,
  stallMs: 60_000,
  // Half the pace of speech, after the ten minutes that OpenAI clients wait for an answer.
  readerPace: { leastBytesPerS: 24_000, graceMs: 600_000 },
  closingMs: 5_000,
  maxConnections: 10_000,
};

/** A server for HTTP and WebSocket. */
export interface Front {
  readonly kind: "uws" | "node";
  /**
   * Listens exclusively on `port`, 0 for any free one.
   * @returns the port in use
   * @throws when the port is in use or the host is not local
   */
  listen(host: string, port: number): Promise<number>;
  /** Accepts no new connections, gives running requests and sockets up to `graceMs`, then cuts the rest. */
  close(graceMs: number): Promise<void>;
}
