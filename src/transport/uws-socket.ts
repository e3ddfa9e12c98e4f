import type { FrontSocket, SocketEvents } from "../ports/front.js";
import type { UwsSocket } from "./uws-binding.js";

interface QueuedMessage {
  readonly payload: string | Uint8Array;
  readonly isBinary: boolean;
  readonly bytes: number;
}

/** What the library is told about a socket when it is upgraded. */
export interface UwsSocketData {
  readonly socket: UwsFrontSocket;
}

/**
 * An open WebSocket over uWebSockets.js.
 *
 * The library can lose a large message that is sent while it still holds unsent bytes, so messages wait here until
 * it holds none.
 */
export class UwsFrontSocket implements FrontSocket {
  readonly #closingMs: number;
  #ws: UwsSocket | null = null;
  #events: SocketEvents | null = null;
  #queue: QueuedMessage[] = [];
  #queuedBytes = 0;
  #closing: { readonly code: number; readonly reason: string; readonly timer: NodeJS.Timeout } | null = null;

  constructor(closingMs: number) {
    this.#closingMs = closingMs;
  }

  opened(ws: UwsSocket): void {
    this.#ws = ws;
  }

  attach(events: SocketEvents): void {
    this.#events = events;
  }

  /** Null before the owner is attached and after the end, and while the socket is closing. */
  get events(): SocketEvents | null {
    return this.#closing === null ? this.#events : null;
  }

  get bufferedBytes(): number {
    return this.#ws === null ? 0 : this.#queuedBytes + this.#ws.getBufferedAmount();
  }

  sendText(text: string): void {
    this.#send({ payload: text, isBinary: false, bytes: Buffer.byteLength(text) });
  }

  sendBinary(bytes: Uint8Array): void {
    this.#send({ payload: bytes, isBinary: true, bytes: bytes.length });
  }

  close(code: number, reason: string): void {
    if (this.#ws === null || this.#closing !== null) return;
    const timer = setTimeout(() => this.terminate(), this.#closingMs);
    this.#closing = { code, reason, timer };
    this.flush();
  }

  terminate(): void {
    this.#ws?.close();
  }

  /** Sends what waits, as far as the library takes it without keeping any; then closes if that was asked for. */
  flush(): void {
    while (this.#ws !== null && this.#queue.length > 0 && this.#ws.getBufferedAmount() === 0) {
      const message = this.#queue.shift()!;
      this.#queuedBytes -= message.bytes;
      this.#ws.send(message.payload, message.isBinary);
    }
    if (this.#closing === null || this.#ws === null) return;
    if (this.#queue.length > 0 || this.#ws.getBufferedAmount() > 0) return;
    this.#ws.end(this.#closing.code, this.#closing.reason);
  }

  /** The library says the socket is over; returns who is to be told, once. */
  ended(): SocketEvents | null {
    const events = this.#events;
    this.#ws = null;
    this.#events = null;
    this.#queue = [];
    this.#queuedBytes = 0;
    if (this.#closing !== null) clearTimeout(this.#closing.timer);
    return events;
  }

  #send(message: QueuedMessage): void {
    if (this.#ws === null || this.#closing !== null) return;
    if (this.#queue.length === 0 && this.#ws.getBufferedAmount() === 0) {
      this.#ws.send(message.payload, message.isBinary);
      return;
    }
    this.#queue.push(message);
    this.#queuedBytes += message.bytes;
  }
}
