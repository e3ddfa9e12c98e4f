import type { Duplex } from "node:stream";

/**
 * The parser that Node keeps for a connection. What it calls back are members by number, which its class names; a member that
 * is no function is not called, and what was read is then taken apart natively, at a hundredth of the price.
 */
type Callback = ((...parts: never[]) => unknown) | null;
type NodeParser = Record<number, Callback> & { readonly constructor: Readonly<Record<string, unknown>> };

const EVERYTHING = ["kOnMessageBegin", "kOnHeaders", "kOnHeadersComplete", "kOnBody", "kOnMessageComplete"];

/**
 * Nothing that still comes on a connection is heard. One read of 64 KiB brings up to 1,500 requests or 11,000 chunks, and
 * pausing the socket ends only the reads after it.
 */
export function deafenConnection(socket: Duplex): void {
  silence(socket, EVERYTHING);
}

/** The rest of the body that comes on a connection is not heard, its end is. @returns makes it heard again */
export function deafenBody(socket: Duplex): () => void {
  return silence(socket, ["kOnBody"]);
}

function silence(socket: Duplex, names: readonly string[]): () => void {
  const parser = (socket as Duplex & { parser?: NodeParser | null }).parser;
  if (parser === null || parser === undefined) return () => {};
  const callbacks = new Map<number, Callback>();
  for (const name of names) {
    const place = parser.constructor[name];
    // Another Node may do it another way: then everything is heard, as before.
    if (typeof place !== "number" || typeof parser[place] !== "function") continue;
    callbacks.set(place, parser[place]);
    parser[place] = null;
  }
  const restore = () => {
    for (const [place, callback] of callbacks) parser[place] = callback;
    callbacks.clear();
  };
  // Node keeps parsers for later connections, and gives this one back when the socket has closed.
  socket.prependOnceListener("close", restore);
  return restore;
}
