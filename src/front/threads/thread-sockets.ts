import type { FrontSocket, SocketEvents } from "../../../core/ports/front.js";
import type { RecordRing } from "../../../native/ring/record-ring.js";
import { GatheredAudio } from "../shared/live-messages.js";
import { SOCKET_RECORD, type SocketOrder } from "./protocol.js";

/** Messages of at least this size are never joined with others. */
const LEAST_ALONE_BYTES = 1_024;
/** Interval at which the unread bytes of slow clients are counted. */
const RECOUNT_MS = 20;
/** Time for which a thread waits for room in the inbox before it rings the bell again. */
const ROOM_WITHIN_MS = 100;

const NOTHING = new Uint8Array(0);

interface OpenSocket {
  readonly socket: FrontSocket;
  /** Index of the socket in the cells of taken bytes. */
  readonly cell: number;
  sentBytes: number;
}

/** The sockets of a front thread. Records their messages in the inbox, in order, and carries out orders. */
export class ThreadSockets {
  readonly #inbox: RecordRing;
  readonly #taken: Int32Array;
  readonly #ring: () => void;
  readonly #open = new Map<number, OpenSocket>();
  readonly #freeCells: number[] = [];
  #cellCount = 0;
  /** Sockets whose clients have unread bytes. */
  readonly #late = new Set<OpenSocket>();
  #timer: NodeJS.Timeout | null = null;
  #ringsSoon = false;

  constructor(inbox: RecordRing, taken: Int32Array, ring: () => void) {
    this.#inbox = inbox;
    this.#taken = taken;
    this.#ring = ring;
  }

  has(id: number): boolean {
    return this.#open.has(id);
  }

  /** @param keepsMessages passes on every message unchanged, without joining any */
  open(id: number, socket: FrontSocket, keepsMessages = false): SocketEvents {
    const cell = this.#freeCells.pop() ?? this.#cellCount++;
    const isKnown = cell < this.#taken.length;
    if (isKnown) Atomics.store(this.#taken, cell, 0);
    else socket.terminate();
    this.#open.set(id, { socket, cell, sentBytes: 0 });
    this.#record(SOCKET_RECORD.opened, id, int32(cell));
    // Join them, because a record of one byte costs both threads as much as one of a thousand.
    const small = new GatheredAudio((bytes) => this.#record(SOCKET_RECORD.binary, id, bytes));
    return {
      text: (text) => {
        small.flush();
        this.#record(SOCKET_RECORD.text, id, Buffer.from(text));
      },
      binary: (bytes) => {
        // An empty message is a command in the live dialects, and would vanish if joined with others.
        const isJoined = !keepsMessages && bytes.length > 0 && bytes.length < LEAST_ALONE_BYTES;
        if (isJoined) return small.push(bytes);
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

  /** Carries out orders, except those for sockets that have ended. */
  carryOut(orders: readonly SocketOrder[]): void {
    for (const order of orders) {
      const open = this.#open.get(order.socket);
      if (open !== undefined) this.#carryOut(open, order);
    }
  }

  /** Rings the reader's bell if necessary. */
  flush(): void {
    this.#ringsSoon = false;
    if (this.#inbox.needsBell()) this.#ring();
  }

  #carryOut(open: OpenSocket, order: SocketOrder): void {
    if (order.type === "close") open.socket.close(order.code, order.reason);
    else if (order.type === "terminate") open.socket.terminate();
    else {
      if (order.type === "text") {
        open.sentBytes += Buffer.byteLength(order.text);
        open.socket.sendText(order.text);
      } else {
        open.sentBytes += order.bytes.length;
        open.socket.sendBinary(order.bytes);
      }
      this.#count(open);
    }
  }

  /** Publishes the number of bytes that the client has read, and continues while bytes are unread. */
  #count(open: OpenSocket): void {
    const { bufferedBytes } = open.socket;
    Atomics.store(this.#taken, open.cell, Math.max(0, open.sentBytes - bufferedBytes) | 0);
    if (bufferedBytes === 0) this.#late.delete(open);
    else this.#late.add(open);
    if (this.#late.size > 0) this.#timer ??= setInterval(() => this.#recount(), RECOUNT_MS);
  }

  #recount(): void {
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

  /** Records a message. While the inbox is full, blocks the thread, which slows its clients down. */
  #record(kind: number, id: number, bytes: Uint8Array): void {
    while (!this.#inbox.write(kind, id, bytes)) {
      this.flush();
      this.#inbox.waitForRoom(ROOM_WITHIN_MS);
    }
    if (this.#ringsSoon) return;
    this.#ringsSoon = true;
    // Ring once for all records of this turn.
    setImmediate(() => this.flush());
  }
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}
