import { BROKEN } from "./live-ending.js";
import type { SocketLike } from "./transport.js";
import type { LiveMessage } from "./types.js";

/** Announces that the second subprotocol is a key or a token. */
const BEARER_PROTOCOL = "svc-bearer";

export interface ConnectorParts {
  readonly url: URL;
  readonly openSocket: (url: URL, protocols: string[]) => SocketLike;
  /** A key or a fresh token for the next socket. */
  readonly credential: (signal: AbortSignal) => Promise<string>;
  readonly openTimeoutMs: number;
}

export interface SocketEvents {
  opened(): void;
  message(message: LiveMessage): void;
  /** Told once; `reason` is what the socket knows about a break, `cause` the error behind it where it has one. */
  closed(code: number, reason: string, cause: unknown): void;
}

/** Opens live sockets, each with a credential of its own. */
export class LiveConnector {
  readonly #parts: ConnectorParts;

  constructor(parts: ConnectorParts) {
    this.#parts = parts;
  }

  /** Milliseconds until a session must be ready. */
  get openTimeoutMs(): number {
    return this.#parts.openTimeoutMs;
  }

  async open(query: URLSearchParams, events: SocketEvents, signal: AbortSignal): Promise<LiveSocket> {
    const credential = await this.#parts.credential(signal);
    signal.throwIfAborted();
    const url = new URL(query.size === 0 ? "v1/stream" : `v1/stream?${query}`, this.#parts.url);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    return new LiveSocket(this.#parts.openSocket(url, [BEARER_PROTOCOL, credential]), events);
  }
}

/** One socket, the same over every implementation. */
export class LiveSocket {
  readonly #socket: SocketLike;
  #isOver = false;

  constructor(socket: SocketLike, events: SocketEvents) {
    this.#socket = socket;
    let reason = "the connection broke";
    let cause: unknown;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => events.opened();
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      const message = this.#isOver ? null : parseMessage(data);
      if (message !== null) events.message(message);
    };
    // Browsers say nothing here; a close always follows.
    socket.onerror = ({ message, error }: { readonly message?: unknown; readonly error?: unknown }) => {
      if (typeof message === "string" && message !== "") reason = message;
      cause = error;
    };
    socket.onclose = (event: { readonly code?: number; readonly reason?: string }) => {
      if (this.#isOver) return;
      this.#isOver = true;
      events.closed(event.code ?? BROKEN, event.reason || reason, cause);
    };
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  sendAudio(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.#isOver) this.#socket.send(bytes);
  }

  sendText(message: { readonly type: "finalize" | "close" | "keepalive" }): void {
    if (!this.#isOver) this.#socket.send(JSON.stringify(message));
  }

  /** Ends it at once; no event comes any more. */
  drop(): void {
    this.#isOver = true;
    if (this.#socket.terminate === undefined) this.#socket.close();
    else this.#socket.terminate();
  }
}

/** Messages are the service's own; only their kind is looked at, and kinds of a later version are passed over. */
function parseMessage(data: unknown): LiveMessage | null {
  if (typeof data !== "string") return null;
  try {
    const message: unknown = JSON.parse(data);
    const isMessage = typeof message === "object" && message !== null && "type" in message;
    return isMessage ? (message as LiveMessage) : null;
  } catch {
    // Something else speaks at this address: without a `ready` it is given up.
    return null;
  }
}
