import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export interface SlowLinkOptions {
  /** Port on 127.0.0.1 at the end of the link. */
  readonly port: number;
  /** In one direction. */
  readonly delayMs: number;
  readonly bytesPerSecond: number;
}

/** Reading from a sender pauses above this. */
const MOST_ON_THE_WAY_BYTES = 262_144;

/** A TCP proxy to a port of this machine that delays data and limits its rate. */
export class SlowLink {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async open(options: SlowLinkOptions): Promise<SlowLink> {
    const server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const link = new SlowLink(server);
    server.on("connection", (near) => link.#join(near, options));
    return link;
  }

  /** Ends every connection and accepts no more. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(near: Socket, options: SlowLinkOptions): void {
    const far = connect({ host: "127.0.0.1", port: options.port, noDelay: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      // `close` follows.
      from.on("error", () => {});
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      carry(from, to, options);
    }
  }
}

/** Delivers in order: two timers of different length from one turn may fire in the wrong order. */
function carry(from: Socket, to: Socket, { delayMs, bytesPerSecond }: SlowLinkOptions): void {
  const onTheWay: { readonly bytes: Buffer; readonly dueMs: number }[] = [];
  let isFreeAtMs = 0;
  let onTheWayBytes = 0;
  const deliver = () => {
    while (onTheWay.length > 0 && onTheWay[0]!.dueMs <= performance.now()) {
      const { bytes } = onTheWay.shift()!;
      onTheWayBytes -= bytes.length;
      if (onTheWayBytes <= MOST_ON_THE_WAY_BYTES) from.resume();
      if (!to.destroyed) to.write(bytes);
    }
    if (onTheWay.length > 0) setTimeout(deliver, onTheWay[0]!.dueMs - performance.now());
  };
  from.on("data", (bytes: Buffer) => {
    const nowMs = performance.now();
    isFreeAtMs = Math.max(isFreeAtMs, nowMs) + (1_000 * bytes.length) / bytesPerSecond;
    onTheWayBytes += bytes.length;
    if (onTheWayBytes > MOST_ON_THE_WAY_BYTES) from.pause();
    if (onTheWay.push({ bytes, dueMs: isFreeAtMs + delayMs }) === 1) setTimeout(deliver, delayMs);
  });
}
