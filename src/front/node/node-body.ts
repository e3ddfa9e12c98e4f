import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { BodySource } from "../shared/body-queue.js";
import type { FloodWatch } from "../shared/rate-limits.js";

/** How the body of one request is read from Node's own stream. */
export class NodeBody implements BodySource {
  readonly #req: IncomingMessage;
  readonly #watch: FloodWatch;

  constructor(req: IncomingMessage, watch: FloodWatch) {
    this.#req = req;
    this.#watch = watch;
  }

  pause(): void {
    this.#req.pause();
  }

  resume(): void {
    this.#req.resume();
  }

  /** What is left of a read is not handed over any more, chunk by chunk: the pause ends only the reads after it. */
  refused(): void {
    this.#watch.flooded(this.#address);
    deafenConnection(this.#req.socket);
    // A request that hears nothing is never full, so its pause does not reach the socket, and asking for more starts it again.
    this.#req._read = () => {};
    this.#req.socket.pause();
  }

  burstShare(): number {
    return this.#watch.burstShare(this.#address);
  }

  get #address(): string {
    return this.#req.socket.remoteAddress ?? "";
  }
}

/**
 * The parser that Node keeps for a connection. What it calls back are members by number, which its class names; a member that
 * is no function is not called, and what was read is then taken apart natively, at a hundredth of the price.
 */
type Callback = ((this: unknown, ...parts: never[]) => unknown) | null;
type NodeParser = Record<number, Callback> & { readonly constructor: Readonly<Record<string, unknown>> };

const EVERYTHING = ["kOnMessageBegin", "kOnHeaders", "kOnHeadersComplete", "kOnBody", "kOnMessageComplete"];

/**
 * Nothing that still comes on a connection is heard. One read of 64 KiB brings up to 1,500 requests or 11,000 chunks, and
 * pausing the socket ends only the reads after it.
 */
export function deafenConnection(socket: Duplex): void {
  replace(socket, EVERYTHING, () => null);
}

/**
 * The rest of the body that comes on a connection is not heard. Its end is, and from there on everything: the same read
 * may bring the next request with its body.
 */
export function deafenBody(socket: Duplex): void {
  replace(socket, ["kOnBody", "kOnMessageComplete"], (name, callback, restore) => {
    if (name === "kOnBody") return null;
    return function (this: unknown, ...parts: never[]) {
      restore();
      return callback.apply(this, parts);
    };
  });
}

/** Puts other callbacks in the place of those of a connection's parser, until they are restored or the socket closes. */
function replace(
  socket: Duplex,
  names: readonly string[],
  replacement: (name: string, callback: NonNullable<Callback>, restore: () => void) => Callback,
): void {
  const parser = (socket as Duplex & { parser?: NodeParser | null }).parser;
  if (parser === null || parser === undefined) return;
  const callbacks = new Map<number, Callback>();
  const restore = () => {
    for (const [place, callback] of callbacks) parser[place] = callback;
    callbacks.clear();
    socket.off("close", restore);
  };
  for (const name of names) {
    const place = parser.constructor[name];
    const callback = typeof place === "number" ? parser[place] : null;
    // Another Node may do it another way: then everything is heard, as before.
    if (typeof place !== "number" || typeof callback !== "function") continue;
    callbacks.set(place, callback);
    parser[place] = replacement(name, callback, restore);
  }
  // Node keeps parsers for later connections, and gives this one back when the socket has closed.
  socket.prependOnceListener("close", restore);
}
