import { RequestTimeoutError } from "./errors.js";
import type { LiveConnector, LiveSocket } from "./live-connector.js";
import type { LiveEnding } from "./live-ending.js";
import type { LiveHistory, LiveHistoryReader, LiveItem } from "./live-history.js";
import { SendWindow } from "./send-window.js";
import type { LiveMessage } from "./types.js";

const LARGEST_MESSAGE_BYTES = 64 * 1024;
/** Beyond this the network lags behind: what waits in the socket cannot be taken back. */
const SOCKET_BACKLOG_BYTES = 256 * 1024;
const LOOK_AGAIN_MS = 50;
/** The service takes a client that says nothing for 60 s to be gone. */
const KEEPALIVE_MS = 20_000;

export interface LiveConnectionParts {
  readonly history: LiveHistory;
  /** Where in the history this socket begins. */
  readonly fromByte: number;
  readonly onMessage: (message: LiveMessage) => void;
  /** Something was sent: there is room again. */
  readonly onSent: () => void;
}

/** One socket of a live session: sends the history from a position on, as far as it has come and goes on. */
export class LiveConnection {
  readonly #parts: LiveConnectionParts;
  readonly #reader: LiveHistoryReader;
  readonly #window = new SendWindow(performance.now());
  #socket: LiveSocket | null = null;
  #isOpen = false;
  #isLeaving = false;
  #isReady = false;
  #requestId: string | null = null;
  #error: LiveEnding["error"] = null;
  #done: LiveEnding["done"] = null;
  #lookTimer: ReturnType<typeof setTimeout> | undefined;
  #keepaliveTimer: ReturnType<typeof setInterval> | undefined;

  constructor(parts: LiveConnectionParts) {
    this.#parts = parts;
    this.#reader = parts.history.readFrom(parts.fromByte);
  }

  /** One past the last byte that was handed to the socket. */
  get sentByte(): number {
    return this.#reader.byte;
  }

  /** The service was ready to hear. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /**
   * Settles with how the socket ended.
   *
   * @throws {RequestTimeoutError} when the service is not ready in time
   * @throws the signal's reason when it aborts, and what failed when there is no credential
   */
  async run(connector: LiveConnector, query: URLSearchParams, signal: AbortSignal): Promise<LiveEnding> {
    signal.throwIfAborted();
    const opening = new AbortController();
    let openTimer: ReturnType<typeof setTimeout> | undefined;
    let giveUp = () => {};
    try {
      return await new Promise<LiveEnding>((settle, fail) => {
        giveUp = () => {
          opening.abort(signal.reason);
          fail(signal.reason);
        };
        signal.addEventListener("abort", giveUp);
        openTimer = setTimeout(() => {
          if (this.#isReady) return;
          opening.abort();
          fail(new RequestTimeoutError(connector.openTimeoutMs, "a live session"));
        }, connector.openTimeoutMs);
        this.#open(connector, query, opening.signal, settle).catch(fail);
      });
    } finally {
      signal.removeEventListener("abort", giveUp);
      clearTimeout(openTimer);
      clearTimeout(this.#lookTimer);
      clearInterval(this.#keepaliveTimer);
      this.#isOpen = false;
      this.#socket?.drop();
    }
  }

  /** Sends what there is to send, as far as the service and the network can take it now. */
  pump(): void {
    clearTimeout(this.#lookTimer);
    const socket = this.#socket;
    if (socket === null || !this.#isOpen || this.#isLeaving) return;
    while (socket.bufferedBytes < SOCKET_BACKLOG_BYTES) {
      const roomBytes = Math.min(LARGEST_MESSAGE_BYTES, this.#window.roomBytes(performance.now()));
      const item = this.#reader.next(roomBytes);
      if (item === null) break;
      this.#send(socket, item);
    }
    this.#parts.onSent();
    if (this.#reader.byte < this.#parts.history.endByte) {
      this.#lookTimer = setTimeout(() => this.pump(), LOOK_AGAIN_MS);
    }
  }

  async #open(
    connector: LiveConnector,
    query: URLSearchParams,
    signal: AbortSignal,
    settle: (ending: LiveEnding) => void,
  ): Promise<void> {
    const events = {
      opened: () => {
        this.#isOpen = true;
        this.#keepaliveTimer = setInterval(() => this.#socket?.sendText({ type: "keepalive" }), KEEPALIVE_MS);
        this.pump();
      },
      message: (message: LiveMessage) => this.#onMessage(message),
      closed: (closeCode: number, reason: string, cause: unknown) => {
        const said = { error: this.#error, done: this.#done, requestId: this.#requestId };
        settle({ closeCode, reason, cause, ...said });
      },
    };
    this.#socket = await connector.open(query, events, signal);
  }

  #send(socket: LiveSocket, item: LiveItem): void {
    if (item.type === "audio") {
      socket.sendAudio(item.bytes);
      this.#window.sent(item.bytes.length);
    } else socket.sendText(item);
  }

  #onMessage(message: LiveMessage): void {
    if (message.type === "ready") {
      this.#isReady = true;
      this.#requestId = message.request_id;
    } else if (message.type === "error") this.#error = message;
    else if (message.type === "done") this.#done = message;
    // A stopping service takes no more audio: what comes now is for the next socket.
    else if (message.type === "going_away") this.#isLeaving = true;
    else if (message.type === "partial" || message.type === "final") this.#window.heardUntil(message.end);
    this.#parts.onMessage(message);
  }
}
