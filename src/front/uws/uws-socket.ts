import type { FloodClosing, FrontSocket, SocketEvents, UpgradeDecision } from "../../../core/ports/front.js";
import { MessageBudget } from "../shared/live-messages.js";
import type { UwsSocket } from "./uws-binding.js";

/**
 * Frames of 16 KiB and more can get stuck in the library if the reader is slow, so fragment long messages.
 */
const LONGEST_FRAME_BYTES = 15 * 1024;

type Accepted = Extract<UpgradeDecision, { readonly type: "accept" }>;

interface Frame {
  readonly payload: string | Uint8Array;
  readonly bytes: number;
  readonly place: "whole" | "first" | "middle" | "last";
  readonly isBinary: boolean;
}

export interface UwsSocketData {
  readonly socket: UwsFrontSocket;
}

/** An open WebSocket over uWebSockets.js. Frames wait here while the library holds unsent bytes. */
export class UwsFrontSocket implements FrontSocket {
  readonly budget: MessageBudget;
  readonly floodClosing: FloodClosing | undefined;
  readonly #closingMs: number;
  #ws: UwsSocket | null = null;
  #events: SocketEvents | null = null;
  #queue: Frame[] = [];
  #queuedBytes = 0;
  #closing: { readonly code: number; readonly reason: string; readonly timer: NodeJS.Timeout } | null = null;

  constructor(closingMs: number, rules: Pick<Accepted, "floodClosing" | "hasAudioInText"> = {}) {
    this.#closingMs = closingMs;
    this.budget = new MessageBudget(undefined, undefined, rules.hasAudioInText);
    this.floodClosing = rules.floodClosing;
  }

  opened(ws: UwsSocket): void {
    this.#ws = ws;
  }

  attach(events: SocketEvents): void {
    this.#events = events;
  }

  /** Null before the owner is attached, while the socket is closing, and after it has ended. */
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

  /**
   * Sends queued frames until the library buffers one. Then closes the socket, if requested and nothing is
   * left.
   */
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

  /** Called when the socket has ended. Returns its owner's callbacks, but only once. */
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
