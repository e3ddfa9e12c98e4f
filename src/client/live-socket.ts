import { ABNORMAL_CLOSE } from "./live-ending.js";
import type { LiveMessage } from "./live-types.js";
import { urlOf } from "./query.js";
import type { SpeechCommand } from "./speech-outbox.js";
import type { SocketLike } from "./transport.js";

/** Subprotocol which announces that the next one is a key or a token. */
const BEARER_PROTOCOL = "svc-bearer";

/** A text message to `/v1/stream`. */
export interface LiveCommand {
  readonly type: "finalize" | "close" | "keepalive";
}

/** Where and how live sockets are opened. */
export interface LiveEndpoint {
  readonly url: URL;
  readonly openSocket: (url: URL, protocols: string[]) => SocketLike;
  /** Returns a key, or a new token for the next socket. */
  readonly credential: (signal: AbortSignal) => Promise<string>;
  /** Milliseconds within which a session must be ready. */
  readonly openTimeoutMs: number;
}

export interface SocketEvents<Message = LiveMessage> {
  opened(): void;
  message(message: Message): void;
  /** Receives a binary message, which is ignored by default. */
  binary?(bytes: ArrayBuffer): void;
  /** Called once. After a broken connection, `reason` and `cause` are those that the platform reported. */
  closed(code: number, reason: string, cause: unknown): void;
}

/** Opens a socket with its own credential. */
export async function openLiveSocket<Message = LiveMessage>(
  endpoint: LiveEndpoint,
  query: URLSearchParams,
  events: SocketEvents<Message>,
  signal: AbortSignal,
  path = "v1/stream",
): Promise<LiveSocket<Message>> {
  const credential = await endpoint.credential(signal);
  signal.throwIfAborted();
  const url = urlOf(endpoint.url, path, query);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return new LiveSocket(endpoint.openSocket(url, [BEARER_PROTOCOL, credential]), events);
}

export class LiveSocket<Message = LiveMessage> {
  readonly #socket: SocketLike;
  #isOver = false;

  constructor(socket: SocketLike, events: SocketEvents<Message>) {
    this.#socket = socket;
    let reason = "the connection was lost";
    let cause: unknown;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => events.opened();
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      if (this.#isOver) return;
      if (data instanceof ArrayBuffer) return events.binary?.(data);
      const message = parseMessage(data);
      if (message !== null) events.message(message as Message);
    };
    // Browsers report no details here, and a close event always follows.
    socket.onerror = ({ message, error }: { readonly message?: unknown; readonly error?: unknown }) => {
      if (typeof message === "string" && message !== "") reason = message;
      cause = error;
    };
    socket.onclose = (event: { readonly code?: number; readonly reason?: string }) => {
      if (this.#isOver) return;
      this.#isOver = true;
      events.closed(event.code ?? ABNORMAL_CLOSE, event.reason || reason, cause);
    };
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  sendAudio(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.#isOver) this.#socket.send(bytes);
  }

  sendText(message: LiveCommand | SpeechCommand): void {
    if (!this.#isOver) this.#socket.send(JSON.stringify(message));
  }

  /** Closes the socket immediately; no events follow. */
  drop(): void {
    this.#isOver = true;
    if (this.#socket.terminate === undefined) this.#socket.close();
    else this.#socket.terminate();
  }
}

/**
 * Returns null for anything but an object with a type. Other fields are not checked: the service is trusted.
 */
function parseMessage(data: unknown): object | null {
  if (typeof data !== "string") return null;
  try {
    const message: unknown = JSON.parse(data);
    const isMessage = typeof message === "object" && message !== null && "type" in message;
    return isMessage ? message : null;
  } catch {
    // Some other server answered at this address. Without `ready`, the connection times out.
    return null;
  }
}
