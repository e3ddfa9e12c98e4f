import { CLOSE } from "../../../core/domain/close-codes.js";
import type { FrontHandlers, FrontSocket, SocketEvents } from "../../../core/ports/front.js";
import { callSafely } from "../shared/serve-safely.js";
import type { SocketOrder } from "./protocol.js";

/** The main thread's side of a WebSocket in a front thread. */
export class RemoteSocket implements FrontSocket {
  readonly #id: number;
  readonly #order: (order: SocketOrder) => void;
  readonly #takenBytes: () => number;
  readonly #handlers: FrontHandlers;
  #events: SocketEvents | null = null;
  /** Bytes sent so far, modulo 2^32. */
  #sentBytes = 0;
  #isClosing = false;
  #isOver = false;

  /** @param takenBytes returns how many bytes of messages the client has taken, modulo 2^32 */
  constructor(
    id: number,
    order: (order: SocketOrder) => void,
    takenBytes: () => number,
    handlers: FrontHandlers,
  ) {
    this.#id = id;
    this.#order = order;
    this.#takenBytes = takenBytes;
    this.#handlers = handlers;
  }

  get bufferedBytes(): number {
    return this.#isOver ? 0 : Math.max(0, (this.#sentBytes - this.#takenBytes()) | 0);
  }

  sendText(text: string): void {
    if (this.#isClosing) return;
    this.#sentBytes = (this.#sentBytes + Buffer.byteLength(text)) | 0;
    this.#order({ type: "text", socket: this.#id, text });
  }

  sendBinary(bytes: Uint8Array): void {
    if (this.#isClosing) return;
    this.#sentBytes = (this.#sentBytes + bytes.length) | 0;
    this.#order({ type: "binary", socket: this.#id, bytes });
  }

  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#order({ type: "close", socket: this.#id, code, reason });
  }

  terminate(): void {
    this.#isClosing = true;
    if (!this.#isOver) this.#order({ type: "terminate", socket: this.#id });
  }

  opened(open: (socket: FrontSocket) => SocketEvents): void {
    callSafely(
      this.#handlers,
      () => {
        this.#events = open(this);
      },
      () => this.terminate(),
    );
  }

  text(bytes: Uint8Array): void {
    this.#message((events) => events.text(Buffer.from(bytes).toString()));
  }

  binary(bytes: Uint8Array): void {
    this.#message((events) => events.binary(bytes));
  }

  /** Called when the front thread has sent the closing messages. */
  flooded(): void {
    this.#message((events) => events.flooded?.());
    this.#isClosing = true;
  }

  closed(code: number, reason: string): void {
    this.#isClosing = true;
    this.#isOver = true;
    const events = this.#events;
    this.#events = null;
    callSafely(this.#handlers, () => events?.closed(code, reason));
  }

  /** Drops messages that arrive after we closed the socket. */
  #message(notify: (events: SocketEvents) => void): void {
    const events = this.#events;
    if (this.#isClosing || events === null) return;
    callSafely(
      this.#handlers,
      () => notify(events),
      () => this.close(CLOSE.internal, "internal error"),
    );
  }
}
