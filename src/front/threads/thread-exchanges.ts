import type { FrontRequest, FrontResponse } from "../../../core/ports/front.js";
import { type ExchangeOrder, type FromFrontThread, type RequestHead, toWireError } from "./protocol.js";

type Post = (message: FromFrontThread, transfer?: ArrayBuffer[]) => void;

interface Running {
  readonly response: FrontResponse;
  readonly body: AsyncIterator<Uint8Array>;
  /** The last write. Writes run one after another. */
  last: Promise<void>;
  readonly done: () => void;
}

/** The requests of a front thread, to which the main thread responds with orders. */
export class ThreadExchanges {
  readonly #post: Post;
  readonly #running = new Map<number, Running>();

  constructor(post: Post) {
    this.#post = post;
  }

  /** Settles when the handler in the main thread has returned. */
  run(id: number, request: FrontRequest, response: FrontResponse): Promise<void> {
    return new Promise((done) => {
      const body = request.body[Symbol.asyncIterator]();
      this.#running.set(id, { response, body, last: Promise.resolve(), done });
      request.signal.addEventListener("abort", () => this.#post({ type: "aborted", id }), { once: true });
      this.#post({ type: "request", id, head: headOf(request) });
    });
  }

  carryOut(order: ExchangeOrder): void {
    const running = this.#running.get(order.id);
    if (running === undefined) return;
    const { response } = running;
    if (order.type === "pull") void this.#pull(order.id, running.body);
    else if (order.type === "start") response.start(order.status, order.headers);
    else if (order.type === "write") this.#send(order.id, running, () => response.write(order.chunk));
    else if (order.type === "end")
      this.#send(order.id, running, () => response.end(order.chunk ?? undefined));
    else if (order.type === "reset") response.reset();
    else {
      this.#running.delete(order.id);
      running.done();
    }
  }

  async #pull(id: number, body: AsyncIterator<Uint8Array>): Promise<void> {
    try {
      const { value, done } = await body.next();
      if (done === true) return this.#post({ type: "chunk", id, bytes: null });
      const whole = value.buffer;
      // Chunks belong to their reader, so transfer their buffer, unless other data shares it.
      const isAlone = whole instanceof ArrayBuffer && whole.byteLength === value.byteLength;
      this.#post({ type: "chunk", id, bytes: value }, isAlone ? [whole] : []);
    } catch (thrown) {
      this.#post({ type: "no-chunk", id, error: toWireError(thrown) });
    }
  }

  #send(id: number, running: Running, send: () => Promise<void>): void {
    const { response } = running;
    running.last = running.last.then(send).then(
      () => this.#post({ type: "sent", id, isOver: response.isOver, error: null }),
      (thrown) => this.#post({ type: "sent", id, isOver: response.isOver, error: toWireError(thrown) }),
    );
  }
}

export function headOf(request: FrontRequest): RequestHead {
  const { method, path, remoteAddress, contentLength, malformed, headers } = request;
  return { method, path, query: request.query.toString(), remoteAddress, contentLength, malformed, headers };
}
