import { RequestTimeoutError } from "./errors.js";
import type { LiveEnding } from "./live-ending.js";
import type { LiveHistory, LiveHistoryReader, LiveItem } from "./live-history.js";
import { type LiveEndpoint, type LiveSocket, openLiveSocket } from "./live-socket.js";
import type { LiveMessage } from "./live-types.js";
import { SendWindow } from "./send-window.js";

const LARGEST_MESSAGE_BYTES = 64 * 1024;
/** Sending pauses when more is buffered: data in the socket's buffer cannot be taken back. */
const SOCKET_BACKLOG_BYTES = 256 * 1024;
const PUMP_AGAIN_MS = 50;
/** Interval of keepalives; the service closes sessions that send nothing for 60 s. */
const KEEPALIVE_MS = 20_000;

export interface LiveConnectionParts {
  readonly history: LiveHistory;
  /** Position in the history at which this socket starts. */
  readonly fromByte: number;
  /** Number of interleaved channels; 1 by default. */
  readonly channelCount?: number | undefined;
  readonly onMessage: (message: LiveMessage) => void;
  /** Called after data was sent, when there may be room again. */
  readonly onSent: () => void;
}

/** Runs one socket of a live session. Sends the history as it grows, from a given position on. */
export class LiveConnection {
  readonly #parts: LiveConnectionParts;
  readonly #reader: LiveHistoryReader;
  readonly #window: SendWindow;
  #socket: LiveSocket | null = null;
  #isOpen = false;
  #isServiceStopping = false;
  #isReady = false;
  #requestId: string | null = null;
  #error: LiveEnding["error"] = null;
  #done: LiveEnding["done"] = null;
  #pumpTimer: ReturnType<typeof setTimeout> | undefined;
  #keepaliveTimer: ReturnType<typeof setInterval> | undefined;

  constructor(parts: LiveConnectionParts) {
    this.#parts = parts;
    this.#window = new SendWindow(performance.now(), parts.channelCount);
    this.#reader = parts.history.readFrom(parts.fromByte);
  }

  /** End of the audio that was passed to the socket. */
  get sentByte(): number {
    return this.#reader.byte;
  }

  /**
   * Resolves when the socket ends.
   *
   * @throws {RequestTimeoutError} if the session is not ready before the deadline
   * @throws the signal's reason if it is aborted, or the error of the token request
   */
  async run(endpoint: LiveEndpoint, query: URLSearchParams, signal: AbortSignal): Promise<LiveEnding> {
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
          fail(new RequestTimeoutError(endpoint.openTimeoutMs, "the live session to open"));
        }, endpoint.openTimeoutMs);
        this.#open(endpoint, query, opening.signal, settle).catch(fail);
      });
    } finally {
      signal.removeEventListener("abort", giveUp);
      clearTimeout(openTimer);
      clearTimeout(this.#pumpTimer);
      clearInterval(this.#keepaliveTimer);
      this.#isOpen = false;
      this.#socket?.drop();
    }
  }

  /** Sends as much of the history as the service and the network accept now. */
  pump(): void {
    clearTimeout(this.#pumpTimer);
    const socket = this.#socket;
    if (socket === null || !this.#isOpen || this.#isServiceStopping) return;
    while (socket.bufferedBytes < SOCKET_BACKLOG_BYTES) {
      const roomBytes = Math.min(LARGEST_MESSAGE_BYTES, this.#window.roomBytes(performance.now()));
      const item = this.#reader.next(roomBytes);
      if (item === null) break;
      this.#send(socket, item);
    }
    this.#parts.onSent();
    if (this.#reader.byte < this.#parts.history.endByte) {
      this.#pumpTimer = setTimeout(() => this.pump(), PUMP_AGAIN_MS);
    }
  }

  async #open(
    endpoint: LiveEndpoint,
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
        const received = { error: this.#error, done: this.#done, requestId: this.#requestId };
        settle({ closeCode, reason, cause, ...received });
      },
    };
    this.#socket = await openLiveSocket(endpoint, query, events, signal);
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
    // A stopping service accepts no more audio, so the next socket sends it.
    else if (message.type === "going_away") this.#isServiceStopping = true;
    else if (message.type === "partial" || message.type === "final")
      this.#window.transcribedUntil(message.end);
    this.#parts.onMessage(message);
  }
}
