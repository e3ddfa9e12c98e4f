import { ServiceError } from "../../../core/domain/errors.js";
import type { Departure, FrontRequest, FrontResponse, Headers } from "../../../core/ports/front.js";
import { type ExchangeNews, type ExchangeOrder, fromWireError, type RequestHead } from "./protocol.js";

type Post = (order: ExchangeOrder, transfer?: ArrayBuffer[]) => void;

interface Waiter<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

/** The main thread's side of a request in a front thread and of its response. */
export class RemoteExchange implements FrontResponse {
  readonly #id: number;
  readonly #post: Post;
  readonly #abort = new AbortController();
  #hasStarted = false;
  #isOver = false;
  #reader: Waiter<Uint8Array | null> | null = null;
  /** Unconfirmed writes, in order. */
  readonly #writes: Waiter<void>[] = [];

  constructor(id: number, post: Post) {
    this.#id = id;
    this.#post = post;
  }

  request(head: RequestHead): FrontRequest {
    return toRequest(head, this.#body(), this.#abort.signal);
  }

  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  start(status: number, headers: Headers): void {
    if (this.#hasStarted) throw new Error("Cannot start a response twice");
    this.#hasStarted = true;
    this.#post({ type: "start", id: this.#id, status, headers });
  }

  async write(chunk: Uint8Array, departure?: Departure): Promise<void> {
    this.#live();
    // Copy the bytes, because the listener that keeps the response may still be reading them.
    const own = new Uint8Array(chunk);
    await this.#send({ type: "write", id: this.#id, chunk: own }, own.buffer);
    // Bytes without a confirmation count as not sent.
    departure?.leaving();
  }

  async end(chunk?: Uint8Array, departure?: Departure): Promise<void> {
    this.#live();
    if (!this.#hasStarted) throw new Error("Cannot end a response before it was started");
    const own = chunk === undefined ? null : new Uint8Array(chunk);
    await this.#send({ type: "end", id: this.#id, chunk: own }, own?.buffer);
    departure?.leaving();
  }

  reset(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#post({ type: "reset", id: this.#id });
  }

  /** Called when the client has left. Rejects pending requests to the thread. */
  onAborted(): void {
    this.#isOver = true;
    this.#abort.abort();
  }

  onNews(news: Exclude<ExchangeNews, { readonly type: "aborted" }>): void {
    if (news.type === "chunk") this.#takeReader()?.resolve(news.bytes);
    else if (news.type === "no-chunk") this.#takeReader()?.reject(fromWireError(news.error));
    else {
      this.#isOver ||= news.isOver;
      const write = this.#writes.shift();
      if (news.error === null) write?.resolve();
      else write?.reject(fromWireError(news.error));
    }
  }

  lost(): void {
    const error = connectionLost();
    this.#isOver = true;
    // Abort first, so that listeners see the reason.
    this.#abort.abort(error);
    this.#takeReader()?.reject(error);
    for (const write of this.#writes.splice(0)) write.reject(error);
  }

  async *#body(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      if (this.#abort.signal.aborted) throw new ServiceError("CANCELLED", "the client is gone");
      const chunk = await new Promise<Uint8Array | null>((resolve, reject) => {
        this.#reader = { resolve, reject };
        this.#post({ type: "pull", id: this.#id });
      });
      if (chunk === null) return;
      yield chunk;
    }
  }

  #takeReader(): Waiter<Uint8Array | null> | null {
    const reader = this.#reader;
    this.#reader = null;
    return reader;
  }

  #send(order: ExchangeOrder, buffer: ArrayBuffer | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#writes.push({ resolve, reject });
      this.#post(order, buffer === undefined ? [] : [buffer]);
    });
  }

  #live(): void {
    if (this.#isOver) throw new ServiceError("CANCELLED", "the client is gone");
  }
}

export function connectionLost(): ServiceError {
  return new ServiceError("WORKER_LOST", "the connection was lost with its front thread");
}

export function toRequest(
  head: RequestHead,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): FrontRequest {
  const { headers } = head;
  return {
    ...head,
    query: new URLSearchParams(head.query),
    body,
    signal,
    header: (name) => headers.get(name.toLowerCase()),
  };
}
