import type { FrontSocket, SocketEvents } from "../../../core/ports/front.js";
import type { RecordRing } from "../../../native/ring/record-ring.js";
import { GatheredAudio } from "../shared/live-messages.js";
import { SOCKET_RECORD, type SocketOrder } from "./protocol.js";

/** Messages of so many bytes are never joined with others. */
const LEAST_ALONE_BYTES = 1_024;
/** How often it is looked whether a client that reads late has read. */
const LOOK_AGAIN_MS = 20;
/** How long a thread that found no room waits until it rings again. */
const ROOM_WITHIN_MS = 100;

const NOTHING = new Uint8Array(0);

interface OpenSocket {
  readonly socket: FrontSocket;
  /** Number of its cell among those of taken bytes. */
  readonly cell: number;
  /** Bytes of messages that were handed over, in all. */
  handedBytes: number;
}

/** The sockets of a front thread: what they say goes into the inbox in order, and orders are carried out. */
export class ThreadSockets {
  readonly #inbox: RecordRing;
  readonly #taken: Int32Array;
  readonly #ring: () => void;
  readonly #open = new Map<number, OpenSocket>();
  readonly #freeCells: number[] = [];
  #cellCount = 0;
  /** Sockets whose clients have not taken everything yet. */
  readonly #late = new Set<OpenSocket>();
  #timer: NodeJS.Timeout | null = null;
  #ringsSoon = false;

  constructor(inbox: RecordRing, taken: Int32Array, ring: () => void) {
    this.#inbox = inbox;
    this.#taken = taken;
    this.#ring = ring;
  }

  /** Whether a socket of this id is open. */
  has(id: number): boolean {
    return this.#open.has(id);
  }

  /** Announces a socket and returns who is told about it. */
  open(id: number, socket: FrontSocket): SocketEvents {
    const cell = this.#freeCells.pop() ?? this.#cellCount++;
    const isKnown = cell < this.#taken.length;
    if (isKnown) Atomics.store(this.#taken, cell, 0);
    else socket.terminate();
    this.#open.set(id, { socket, cell, handedBytes: 0 });
    this.#record(SOCKET_RECORD.opened, id, int32(cell));
    // A record costs both threads the same, whether it holds one byte or a thousand.
    const small = new GatheredAudio((bytes) => this.#record(SOCKET_RECORD.binary, id, bytes));
    return {
      text: (text) => {
        small.flush();
        this.#record(SOCKET_RECORD.text, id, Buffer.from(text));
      },
      binary: (bytes) => {
        // An empty message has a meaning in the dialects of live sockets, and would leave no trace among others.
        if (bytes.length > 0 && bytes.length < LEAST_ALONE_BYTES) return small.push(bytes);
        small.flush();
        this.#record(SOCKET_RECORD.binary, id, bytes);
      },
      flooded: () => {
        small.flush();
        this.#record(SOCKET_RECORD.flooded, id, NOTHING);
      },
      closed: (code, reason) => {
        small.flush();
        this.#forget(id);
        this.#record(SOCKET_RECORD.closed, id, Buffer.concat([int32(code), Buffer.from(reason)]));
      },
    };
  }

  /** Orders about sockets that have ended meanwhile are dropped. */
  carryOut(orders: readonly SocketOrder[]): void {
    for (const order of orders) {
      const open = this.#open.get(order.socket);
      if (open !== undefined) this.#carryOut(open, order);
    }
  }

  /** Tells the reader about what was recorded. */
  flush(): void {
    this.#ringsSoon = false;
    if (this.#inbox.needsBell()) this.#ring();
  }

  #carryOut(open: OpenSocket, order: SocketOrder): void {
    switch (order.type) {
      case "text":
        open.handedBytes += Buffer.byteLength(order.text);
        open.socket.sendText(order.text);
        this.#count(open);
        return;
      case "binary":
        open.handedBytes += order.bytes.length;
        open.socket.sendBinary(order.bytes);
        this.#count(open);
        return;
      case "close":
        open.socket.close(order.code, order.reason);
        return;
      case "terminate":
        open.socket.terminate();
        return;
    }
  }

  /** Publishes how much the client has taken; what it leaves is looked after. */
  #count(open: OpenSocket): void {
    const { bufferedBytes } = open.socket;
    Atomics.store(this.#taken, open.cell, Math.max(0, open.handedBytes - bufferedBytes) | 0);
    if (bufferedBytes === 0) this.#late.delete(open);
    else this.#late.add(open);
    if (this.#late.size > 0) this.#timer ??= setInterval(() => this.#lookAgain(), LOOK_AGAIN_MS);
  }

  #lookAgain(): void {
    for (const open of this.#late) this.#count(open);
    if (this.#late.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #forget(id: number): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    this.#late.delete(open);
    this.#freeCells.push(open.cell);
  }

  /** Waits when there is no room: a thread that reads nothing slows its clients down, and has nothing better to do. */
  #record(kind: number, id: number, bytes: Uint8Array): void {
    while (!this.#inbox.write(kind, id, bytes)) {
      this.flush();
      this.#inbox.waitForRoom(ROOM_WITHIN_MS);
    }
    if (this.#ringsSoon) return;
    this.#ringsSoon = true;
    // One bell for everything that came in this turn of the event loop.
    setImmediate(() => this.flush());
  }
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}
