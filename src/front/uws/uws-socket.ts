import type { ClosingMessage, FrontSocket, SocketEvents } from "../../../core/ports/front.js";
import { MessageBudget } from "../shared/message-budget.js";
import type { UwsSocket } from "./uws-binding.js";

/** Frames of 16 KiB and more can get stuck in the library when the client reads slowly: longer messages are cut. */
const LONGEST_FRAME_BYTES = 15 * 1024;

/** One WebSocket frame: a whole message, or a piece of one. */
interface Frame {
  readonly payload: string | Uint8Array;
  readonly bytes: number;
  readonly place: "whole" | "first" | "middle" | "last";
  readonly isBinary: boolean;
}

/** What the library is told about a socket when it is upgraded. */
export interface UwsSocketData {
  readonly socket: UwsFrontSocket;
}

/** An open WebSocket over uWebSockets.js. While the library holds unsent bytes, what follows waits here. */
export class UwsFrontSocket implements FrontSocket {
  readonly budget = new MessageBudget();
  /** Of a client that sends too much. */
  readonly floodClosingMessage: ClosingMessage | undefined;
  readonly #closingMs: number;
  #ws: UwsSocket | null = null;
  #events: SocketEvents | null = null;
  #queue: Frame[] = [];
  #queuedBytes = 0;
  #closing: { readonly code: number; readonly reason: string; readonly timer: NodeJS.Timeout } | null = null;

  constructor(closingMs: number, floodClosingMessage?: ClosingMessage) {
    this.#closingMs = closingMs;
    this.floodClosingMessage = floodClosingMessage;
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
    const bytes = Buffer.byteLength(text);
    if (bytes <= LONGEST_FRAME_BYTES) this.#send({ payload: text, bytes, place: "whole", isBinary: false });
    else this.#sendPieces(Buffer.from(text), false);
  }

  sendBinary(bytes: Uint8Array): void {
    this.#sendPieces(bytes, true);
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
      const frame = this.#queue.shift()!;
      this.#queuedBytes -= frame.bytes;
      deliver(this.#ws, frame);
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

  #sendPieces(bytes: Uint8Array, isBinary: boolean): void {
    const last = Math.max(0, Math.ceil(bytes.length / LONGEST_FRAME_BYTES) - 1);
    for (let index = 0; index <= last; index++) {
      const payload = bytes.subarray(index * LONGEST_FRAME_BYTES, (index + 1) * LONGEST_FRAME_BYTES);
      this.#send({ payload, bytes: payload.length, place: placeOf(index, last), isBinary });
    }
  }

  #send(frame: Frame): void {
    if (this.#ws === null || this.#closing !== null) return;
    if (this.#queue.length === 0 && this.#ws.getBufferedAmount() === 0) {
      deliver(this.#ws, frame);
      return;
    }
    this.#queue.push(frame);
    this.#queuedBytes += frame.bytes;
  }
}

function placeOf(index: number, last: number): Frame["place"] {
  if (last === 0) return "whole";
  if (index === 0) return "first";
  return index === last ? "last" : "middle";
}

function deliver(ws: UwsSocket, frame: Frame): void {
  if (frame.place === "whole" || typeof frame.payload === "string") ws.send(frame.payload, frame.isBinary);
  else if (frame.place === "first") ws.sendFirstFragment(frame.payload, frame.isBinary);
  else if (frame.place === "middle") ws.sendFragment(frame.payload);
  else ws.sendLastFragment(frame.payload);
}
