import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { BodySource } from "../shared/body-queue.js";
import type { FloodWatch } from "../shared/rate-limits.js";

/** Reads the body of one request from Node's stream. */
export function nodeBody(req: IncomingMessage, watch: FloodWatch): BodySource {
  const address = req.socket.remoteAddress ?? "";
  return {
    pause: () => void req.pause(),
    resume: () => void req.resume(),
    burstShare: () => watch.burstShare(address),
    refused() {
      watch.flooded(address);
      // Pausing alone would still deliver the rest of the last read, chunk by chunk.
      ignoreConnection(req.socket);
      // A request without data never fills up. So its pause does not reach the socket, and `_read` would
      // resume it.
      req._read = () => {};
      req.socket.pause();
    },
  };
}

/**
 * The parser that Node keeps for a connection. Its callbacks are numbered members, and its class has a name
 * for each number. The parser skips members that are null; reading input without callbacks costs a hundredth.
 */
type Callback = ((this: unknown, ...parts: never[]) => unknown) | null;
type NodeParser = Record<number, Callback> & { readonly constructor: Readonly<Record<string, unknown>> };

const EVERYTHING = ["kOnMessageBegin", "kOnHeaders", "kOnHeadersComplete", "kOnBody", "kOnMessageComplete"];

/**
 * Ignores everything that still arrives on a connection. Pausing the socket would stop only later reads, and
 * one read of 64 KiB contains up to 1,500 requests or 11,000 chunks.
 */
export function ignoreConnection(socket: Duplex): void {
  replace(socket, EVERYTHING, () => null);
}

/**
 * Ignores the rest of a request's body. Stops at its end, because the same read may contain the next request.
 */
export function ignoreBody(socket: Duplex): void {
  replace(socket, ["kOnBody", "kOnMessageComplete"], (name, callback, restore) => {
    if (name === "kOnBody") return null;
    return function (this: unknown, ...parts: never[]) {
      restore();
      return callback.apply(this, parts);
    };
  });
}

/** Replaces callbacks of a connection's parser until they are restored or the socket closes. */
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
    // A future version of Node may number them differently; then nothing is ignored.
    if (typeof place !== "number" || typeof callback !== "function") continue;
    callbacks.set(place, callback);
    parser[place] = replacement(name, callback, restore);
  }
  // Node reuses the parser for another connection after the socket has closed.
  socket.prependOnceListener("close", restore);
}
