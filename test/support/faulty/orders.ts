import { BroadcastChannel, threadId } from "node:worker_threads";

/** Rooms whose threads fail when a test orders it, if they were started with the entries of this folder. */
export type FaultyRoom = "live" | "synthesis" | "transcription" | "front";

const CHANNEL = "dauys-test-faults";

type Note =
  /** A thread of `room` is ready to fail. */
  | { readonly type: "up"; readonly room: FaultyRoom; readonly threadId: number }
  /** Every thread of `room`, or the one that is named, is to fail in the middle of its work. */
  | {
      readonly type: "fail";
      readonly room: FaultyRoom;
      readonly threadId: number | null;
      /** Counts the orders of this process from 0. */
      readonly nth: number;
    };

/** The side that orders: a test, or the process of a service under test. */
export class FaultOrders {
  readonly #channel = new BroadcastChannel(CHANNEL);
  /** Threads that said they are ready and were not told to fail yet, oldest first. */
  readonly #up: { readonly room: FaultyRoom; readonly threadId: number }[] = [];

  #orderCount = 0;

  constructor() {
    this.#channel.onmessage = (event) => {
      const note = (event as MessageEvent).data as Note;
      if (note.type === "up") this.#up.push(note);
    };
    // What orders must not keep its process alive.
    this.#channel.unref();
  }

  /** Every thread of `room` that works, or the next one that will, fails once. */
  failAll(room: Exclude<FaultyRoom, "front">): void {
    this.#post(room, null);
  }

  /** The thread of `room` that has been up longest fails; nothing happens while none is up. */
  failOldest(room: FaultyRoom): void {
    const index = this.#up.findIndex((thread) => thread.room === room);
    const [oldest] = index < 0 ? [] : this.#up.splice(index, 1);
    if (oldest !== undefined) this.#post(room, oldest.threadId);
  }

  #post(room: FaultyRoom, threadId: number | null): void {
    this.#channel.postMessage({ type: "fail", room, threadId, nth: this.#orderCount++ } satisfies Note);
  }
}

/** The side that fails: calls `act` in a thread of `room`, from now on, each time it is ordered to fail, with the order's number. */
export function onOrder(room: FaultyRoom, act: (nth: number) => void): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = (event) => {
    const note = (event as MessageEvent).data as Note;
    if (note.type !== "fail" || note.room !== room) return;
    if (note.threadId === null || note.threadId === threadId) act(note.nth);
  };
  // The thread ends when its work does.
  channel.unref();
  channel.postMessage({ type: "up", room, threadId } satisfies Note);
}

/** Calls `onReady` once, when this thread tells its owner that it is ready: an order before it would fail a start. */
export function whenReady(port: MessagePortLike, onReady: () => void): void {
  const post = port.postMessage.bind(port);
  let isReady = false;
  port.postMessage = (message, transfer) => {
    post(message, transfer);
    if (isReady || (message as { readonly type?: unknown }).type !== "ready") return;
    isReady = true;
    onReady();
  };
}

/** The part of a thread's port that carries messages to its owner. */
export interface MessagePortLike {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
}

/** What no code of ours catches: the thread ends with it. */
export function failThread(): never {
  throw new Error("a test ordered this fault");
}
