import { BroadcastChannel, threadId } from "node:worker_threads";

/** The modules whose threads can fail when a test orders it, if they use the entries of this folder. */
export type FaultyModule = "live" | "synthesis" | "transcription" | "front";

const CHANNEL = "dauys-test-faults";

type Note =
  /** A thread of `module` is ready. */
  | { readonly type: "up"; readonly module: FaultyModule; readonly threadId: number }
  /** Every thread of `module`, or one of them, must fail in the middle of its work. */
  | {
      readonly type: "fail";
      readonly module: FaultyModule;
      readonly threadId: number | null;
      /** The number of this order in its process, counted from 0. */
      readonly nth: number;
    };

/** Orders faults. Used by a test, or in the process of a service under test. */
export class FaultOrders {
  readonly #channel = new BroadcastChannel(CHANNEL);
  /** The threads that are ready and were not ordered to fail, oldest first. */
  readonly #up: { readonly module: FaultyModule; readonly threadId: number }[] = [];

  #orderCount = 0;

  constructor() {
    this.#channel.onmessage = (event) => {
      const note = (event as MessageEvent).data as Note;
      if (note.type === "up") this.#up.push(note);
    };
    // Orders must not keep the process alive.
    this.#channel.unref();
  }

  /** Makes every thread of `module` that is working, or else the next one that works, fail once. */
  failAll(module: Exclude<FaultyModule, "front">): void {
    this.#post(module, null);
  }

  /** Makes the oldest thread of `module` fail, if there is one. */
  failOldest(module: FaultyModule): void {
    const index = this.#up.findIndex((thread) => thread.module === module);
    const [oldest] = index < 0 ? [] : this.#up.splice(index, 1);
    if (oldest !== undefined) this.#post(module, oldest.threadId);
  }

  #post(module: FaultyModule, threadId: number | null): void {
    this.#channel.postMessage({ type: "fail", module, threadId, nth: this.#orderCount++ } satisfies Note);
  }
}

/** Calls `act` with the number of each order for this thread. */
export function onOrder(module: FaultyModule, act: (nth: number) => void): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = (event) => {
    const note = (event as MessageEvent).data as Note;
    if (note.type !== "fail" || note.module !== module) return;
    if (note.threadId === null || note.threadId === threadId) act(note.nth);
  };
  // The channel must not keep the thread alive.
  channel.unref();
  channel.postMessage({ type: "up", module, threadId } satisfies Note);
}

/** Calls `onReady` once this thread has reported that it is ready. An earlier fault would fail the start. */
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

/** The part of a port that sends messages to the thread's owner. */
export interface MessagePortLike {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
}

/** Throws an error that no code catches and that ends the thread. */
export function failThread(): never {
  throw new Error("a test ordered this fault");
}
