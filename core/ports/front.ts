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
  /** Null when the client does not say how long the body is. */
  readonly contentLength: number | null;
  /**
   * Why the request cannot be trusted (conflicting lengths, a path that does not decode), else null. Such a request has
   * no body, and its connection is closed after the answer.
   */
  readonly malformed: string | null;
  /**
   * The body as it arrives. A reader that is slow slows the sender down. May be read once; chunks belong to the reader.
   * @throws {ServiceError} `CANCELLED` when the client leaves or stalls before the body is complete
   */
  readonly body: AsyncIterable<Uint8Array>;
  /**
   * Aborted when the client goes away before its answer is complete; with a `ServiceError` `WORKER_LOST` as the reason
   * when it was cut off by us.
   */
  readonly signal: AbortSignal;
  /** By their names in lower case; repeated headers are joined with commas. */
  readonly headers: ReadonlyMap<string, string>;
  /** One of them; case does not matter. */
  header(name: string): string | undefined;
}

/** Told when bytes leave, by the side that must write that down before their reader can have them. */
export interface Departure {
  /** The last of the bytes are about to be handed to the operating system. */
  leaving(): void;
  /** They were not taken: the reader is slow. `leaving` comes again, then at the latest when they are gone. */
  held(): void;
}

/** The answer to one request. To a HEAD request the same calls are made, and no body is sent. */
export interface FrontResponse {
  /** Status and headers are decided; they leave with the first bytes of the body. */
  readonly hasStarted: boolean;
  /** Complete, reset, or given up by the client. */
  readonly isOver: boolean;
  /** With a `content-length` exactly that many bytes must follow, without one the body is chunked. */
  start(status: number, headers: Headers): void;
  /**
   * Sends bytes and settles when more are welcome: a client that reads slowly slows the writer down.
   * @throws {ServiceError} `CANCELLED` when the client is gone or has read nothing for too long
   */
  write(chunk: Uint8Array, departure?: Departure): Promise<void>;
  /**
   * Completes the answer; without earlier writes the length becomes known from `chunk`.
   * @throws {ServiceError} `CANCELLED` as `write`
   */
  end(chunk?: Uint8Array, departure?: Departure): Promise<void>;
  /** Breaks the connection, so that what was sent cannot be taken for a complete answer. */
  reset(): void;
}

/** An open WebSocket. Calls after its end do nothing. */
export interface FrontSocket {
  /** Bytes handed over that the client has not taken yet. */
  readonly bufferedBytes: number;
  sendText(text: string): void;
  /** The bytes must not change afterwards: they may wait. */
  sendBinary(bytes: Uint8Array): void;
  /** Closes after what was sent. A client that does not take it within a few seconds is cut off. */
  close(code: number, reason: string): void;
  /** Cuts the connection at once. */
  terminate(): void;
}

/** What a socket's owner is told. `closed` comes exactly once and last. */
export interface SocketEvents {
  text(text: string): void;
  /**
   * The bytes are lent for the length of the call. Short messages of a client that sends faster than real time may come
   * joined; an empty one never does.
   */
  binary(bytes: Uint8Array): void;
  /** The front has said `floodClosingMessage` and hands on nothing any more; `closed` follows. At most once. */
  flooded?(): void;
  /** 1006 when the client vanished without a closing message. */
  closed(code: number, reason: string): void;
}

/** The last that a client hears on its socket. */
export interface ClosingMessage {
  readonly messages: readonly (string | Uint8Array)[];
  readonly code: number;
  readonly reason: string;
}

export type UpgradeDecision =
  | { readonly type: "refuse"; readonly status: number; readonly headers: Headers; readonly body: string }
  | {
      readonly type: "accept";
      /** Must be one of those the client offered, or null. */
      readonly protocol: string | null;
      /** Headers of the 101 answer. */
      readonly headers: Headers;
      /**
       * What the front says to a client that sends more messages than a front takes, of which it hands on none any more.
       * The owner is told `flooded`. Without it the front closes with 1008 and no word.
       */
      readonly floodClosingMessage?: ClosingMessage | undefined;
      /** Called once the socket is open; returns who is told about it. */
      readonly open: (socket: FrontSocket) => SocketEvents;
    };

/** What a front serves. Handlers may throw: the front answers 500 or resets the connection, and goes on. */
export interface FrontHandlers {
  /** Routing is the handler's own: it is called for every request that is not an upgrade. */
  request(request: FrontRequest, response: FrontResponse): Promise<void>;
  /** Decides about a WebSocket before it is opened; may take its time. */
  upgrade(request: FrontRequest): Promise<UpgradeDecision>;
  /** Told about what a handler threw, and about failures inside the front. */
  failed(error: unknown): void;
}

/** How fast an answer has to be taken. Only time in which we wait for its reader counts. */
export interface ReaderPace {
  /** On the whole, once `graceMs` are over. */
  readonly leastBytesPerS: number;
  readonly graceMs: number;
}

/** Limits of one front; times in milliseconds. */
export interface FrontLimits {
  /** A longer WebSocket message closes the socket (1009). */
  readonly messageBytes: number;
  /** A request body or a reader that makes no progress for this long is given up. */
  readonly stallMs: number;
  /** A reader that makes too little progress is given up. */
  readonly readerPace: ReaderPace;
  /** How long a closing WebSocket may take to say goodbye. */
  readonly closingMs: number;
  /** Beyond so many connections, WebSockets included, new ones are refused. */
  readonly maxConnections: number;
}

export const DEFAULT_FRONT_LIMITS: FrontLimits = {
  messageBytes: 1 << 20,
  stallMs: 60_000,
  // Half the pace of speech, after the ten minutes that clients of the OpenAI shape wait for an answer.
  readerPace: { leastBytesPerS: 24_000, graceMs: 600_000 },
  closingMs: 5_000,
  maxConnections: 10_000,
};

/** The outside world over HTTP and WebSocket. */
export interface Front {
  readonly kind: "uws" | "node";
  /**
   * Listens exclusively on `port`, 0 for any free one.
   * @returns the port in use
   * @throws when the port is taken or the host is not ours
   */
  listen(host: string, port: number): Promise<number>;
  /** Takes no new connections, gives running requests and sockets up to `graceMs`, then cuts the rest. */
  close(graceMs: number): Promise<void>;
}
