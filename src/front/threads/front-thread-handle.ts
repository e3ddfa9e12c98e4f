import { Worker } from "node:worker_threads";
import { ServiceError } from "../../../core/domain/errors.js";
import { settlesWithin, whenReady } from "../../../core/kernel/readiness.js";
import type { Child } from "../../../core/kernel/supervisor.js";
import type { FrontHandlers, FrontLimits, FrontSocket, SocketEvents } from "../../../core/ports/front.js";
import { RecordRing } from "../../../native/ring/record-ring.js";
import { decideSafely, serveSafely } from "../shared/serve-safely.js";
import {
  type FromFrontThread,
  type FrontThreadData,
  fromWireError,
  type RequestHead,
  SOCKET_CELLS,
  SOCKET_RECORD,
  type SocketOrder,
  type ToFrontThread,
  type WireDecision,
} from "./protocol.js";
import { connectionLost, RemoteExchange, toRequest } from "./remote-exchange.js";
import { RemoteSocket } from "./remote-socket.js";

/** Holds about a tenth of a second of audio from 2,000 sockets. A thread that finds the inbox full waits. */
const LEAST_INBOX_BYTES = 2 ** 23;
/** Records handled in one turn of the event loop, which takes a few milliseconds. */
const RECORDS_PER_TURN = 2_000;
const READY_WITHIN_MS = 20_000;
/** Time for a thread to end after its clients' grace period. */
const END_WITHIN_MS = 30_000;

export interface FrontThreadOptions {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly limits: FrontLimits;
  readonly ownDescriptors: number | null;
  readonly handlers: FrontHandlers;
  /** Returns how long `stop` waits for clients to finish. */
  readonly graceMs: () => number;
  readonly entry: URL;
}

/** The main thread's side of one front thread: calls the handlers of its requests and sockets. */
export class FrontThreadHandle implements Child {
  readonly ended: Promise<Error | null>;
  readonly #options: FrontThreadOptions;
  readonly #worker: Worker;
  readonly #inbox: RecordRing;
  readonly #taken: Int32Array;
  readonly #exchanges = new Map<number, RemoteExchange>();
  readonly #upgrades = new Map<number, AbortController>();
  /** Sockets that were accepted but are not open yet. */
  readonly #accepted = new Map<number, (socket: FrontSocket) => SocketEvents>();
  readonly #sockets = new Map<number, RemoteSocket>();
  readonly #visit = (kind: number, id: number, bytes: Uint8Array) => this.#onRecord(kind, id, bytes);
  #drainsSoon = false;
  readonly #orders: SocketOrder[] = [];
  #failure: Error | null = null;
  #isStopping = false;

  private constructor(options: FrontThreadOptions) {
    const { name, host, port, limits, ownDescriptors, entry } = options;
    this.#options = options;
    // A record may take half of the ring, so make room for two of the longest messages.
    this.#inbox = RecordRing.create(
      Math.max(LEAST_INBOX_BYTES, 2 ** Math.ceil(Math.log2(4 * limits.messageBytes))),
    );
    const taken = new SharedArrayBuffer(SOCKET_CELLS * Int32Array.BYTES_PER_ELEMENT);
    this.#taken = new Int32Array(taken);
    const inbox = this.#inbox.buffer;
    const data: FrontThreadData = { host, port, limits, ownDescriptors, inbox, taken };
    this.#worker = new Worker(entry, { name, workerData: data });
    this.ended = new Promise((resolve) => {
      this.#worker.on("error", (error) => {
        this.#failure ??= error instanceof Error ? error : new Error(String(error));
      });
      this.#worker.once("exit", (code) => {
        this.#lost();
        const reason = this.#failure ?? new ServiceError("WORKER_LOST", `${name} ended (${code})`);
        resolve(this.#isStopping ? null : reason);
      });
    });
  }

  /** Starts a thread. Settles when it listens. */
  static async start(options: FrontThreadOptions): Promise<FrontThreadHandle> {
    const thread = new FrontThreadHandle(options);
    await whenReady<void>({
      ended: thread.ended,
      withinMs: READY_WITHIN_MS,
      listen: (ready) => {
        thread.#worker.on("message", (message: FromFrontThread) => {
          if (message.type === "ready") ready();
          else thread.#onMessage(message);
        });
      },
      giveUp: () => {
        void thread.stop();
        return new ServiceError("WORKER_LOST", `${options.name} was not ready within ${READY_WITHIN_MS} ms`);
      },
    });
    return thread;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const graceMs = this.#options.graceMs();
    this.#post({ type: "close", graceMs });
    await settlesWithin(this.ended, graceMs + END_WITHIN_MS);
    // A thread that hangs must not keep the process alive; terminating it would abort the whole process.
    this.#worker.unref();
  }

  #onMessage(message: Exclude<FromFrontThread, { readonly type: "ready" }>): void {
    if (message.type === "request") void this.#serve(message.id, message.head);
    else if (message.type === "upgrade") void this.#decide(message.id, message.head);
    else if (message.type === "bell") this.#drain();
    else if (message.type === "report") this.#options.handlers.failed(fromWireError(message.error));
    else if (message.type === "failed") this.#failure = fromWireError(message.error);
    else if (message.type === "aborted") this.#aborted(message.id);
    else this.#exchanges.get(message.id)?.onNews(message);
  }

  #aborted(id: number): void {
    // The client of an upgrade may leave before its socket opens; then nobody is notified.
    this.#upgrades.get(id)?.abort();
    this.#accepted.delete(id);
    // A failing thread disconnects clients that did not leave themselves.
    if (this.#failure === null) this.#exchanges.get(id)?.onAborted();
    else this.#exchanges.get(id)?.lost();
  }

  async #serve(id: number, head: RequestHead): Promise<void> {
    const exchange = new RemoteExchange(id, (order, transfer) => this.#post(order, transfer));
    this.#exchanges.set(id, exchange);
    await serveSafely(this.#options.handlers, exchange.request(head), exchange);
    this.#exchanges.delete(id);
    this.#post({ type: "done", id });
  }

  async #decide(id: number, head: RequestHead): Promise<void> {
    const abort = new AbortController();
    this.#upgrades.set(id, abort);
    const request = toRequest(head, noBody(), abort.signal);
    const decision = await decideSafely(this.#options.handlers, request);
    this.#upgrades.delete(id);
    if (abort.signal.aborted) return this.#post({ type: "decided", id, decision: LEFT });
    if (decision.type === "refuse") return this.#post({ type: "decided", id, decision });
    const { open, ...accept } = decision;
    this.#accepted.set(id, open);
    this.#post({ type: "decided", id, decision: accept });
  }

  /** Handles a limited number of records per turn, so that other work continues. */
  #drain(): void {
    if (this.#drainsSoon) return;
    if (!this.#inbox.drain(this.#visit, RECORDS_PER_TURN)) return;
    this.#drainsSoon = true;
    setImmediate(() => {
      this.#drainsSoon = false;
      this.#drain();
    });
  }

  #onRecord(kind: number, id: number, bytes: Uint8Array): void {
    if (kind === SOCKET_RECORD.opened) this.#opened(id, readInt32(bytes));
    const socket = this.#sockets.get(id);
    if (kind === SOCKET_RECORD.binary) socket?.binary(bytes);
    else if (kind === SOCKET_RECORD.text) socket?.text(bytes);
    else if (kind === SOCKET_RECORD.flooded) socket?.flooded();
    else if (kind === SOCKET_RECORD.closed) {
      this.#sockets.delete(id);
      socket?.closed(readInt32(bytes), Buffer.from(bytes.subarray(4)).toString());
    }
  }

  #opened(id: number, cell: number): void {
    const open = this.#accepted.get(id);
    this.#accepted.delete(id);
    if (open === undefined) return;
    const takenBytes = () => (cell < this.#taken.length ? Atomics.load(this.#taken, cell) : 0);
    const socket = new RemoteSocket(id, (order) => this.#order(order), takenBytes, this.#options.handlers);
    this.#sockets.set(id, socket);
    socket.opened(open);
  }

  /** Sends all orders of one turn of the event loop together. */
  #order(order: SocketOrder): void {
    if (this.#orders.length === 0)
      setImmediate(() => this.#post({ type: "sockets", orders: this.#orders.splice(0) }));
    this.#orders.push(order);
  }

  #post(message: ToFrontThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  /** Called when the thread has ended: handles its remaining records, then disconnects all its clients. */
  #lost(): void {
    this.#inbox.drain(this.#visit);
    for (const socket of this.#sockets.values()) socket.closed(1006, "");
    for (const upgrade of this.#upgrades.values()) upgrade.abort(connectionLost());
    for (const exchange of this.#exchanges.values()) exchange.lost();
    this.#sockets.clear();
    this.#accepted.clear();
  }
}

/** Rejects the upgrade of a client that has left. */
const LEFT: WireDecision = { type: "refuse", status: 499, headers: {}, body: "" };

async function* noBody(): AsyncGenerator<Uint8Array, void, undefined> {}

function readInt32(bytes: Uint8Array): number {
  return Buffer.from(bytes.subarray(0, 4)).readInt32LE();
}
