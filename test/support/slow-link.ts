import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export interface SlowLinkOptions {
  /** The port on 127.0.0.1 at the end of the link. */
  readonly port: number;
  /** The delay in one direction. */
  readonly delayMs: number;
  readonly bytesPerSecond: number;
  /** The share of the pieces that are lost and sent again after a retransmission timeout; 0 by default. */
  readonly lossShare?: number;
  /** True if nothing arrives and neither side gets a signal; false by default. */
  readonly isCut?: boolean;
}

/** Above this, the link stops reading from the sender. */
const MOST_ON_THE_WAY_BYTES = 262_144;
/** The shortest retransmission timeout of Linux. */
const RETRANSMISSION_MS = 200;
const CUT_LOOK_MS = 20;

/** A TCP proxy to a port of this machine that delays data and limits its rate. */
export class SlowLink {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #options: SlowLinkOptions;

  private constructor(server: Server, options: SlowLinkOptions) {
    this.#server = server;
    this.#options = options;
    this.port = (server.address() as AddressInfo).port;
  }

  static async open(options: SlowLinkOptions): Promise<SlowLink> {
    const server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const link = new SlowLink(server, options);
    server.on("connection", (near) => link.#join(near));
    return link;
  }

  /** Changes the options. They apply to open connections, for everything that is sent from now on. */
  change(options: Partial<SlowLinkOptions>): void {
    this.#options = { ...this.#options, ...options };
  }

  /** Ends every connection and accepts no more. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(near: Socket): void {
    const far = connect({ host: "127.0.0.1", port: this.#options.port, noDelay: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      // The `close` event follows.
      from.on("error", () => {});
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      carry(from, to, () => this.#options);
    }
  }
}

/** Delivers in order, because two timers of different delays set in one turn may fire in the wrong order. */
function carry(from: Socket, to: Socket, optionsNow: () => SlowLinkOptions): void {
  const onTheWay: { readonly bytes: Buffer; readonly dueMs: number }[] = [];
  let isFreeAtMs = 0;
  let onTheWayBytes = 0;
  const deliver = () => {
    if (optionsNow().isCut === true) {
      setTimeout(deliver, CUT_LOOK_MS);
      return;
    }
    while (onTheWay.length > 0 && onTheWay[0]!.dueMs <= performance.now()) {
      const { bytes } = onTheWay.shift()!;
      onTheWayBytes -= bytes.length;
      if (onTheWayBytes <= MOST_ON_THE_WAY_BYTES) from.resume();
      if (!to.destroyed) to.write(bytes);
    }
    if (onTheWay.length > 0) setTimeout(deliver, onTheWay[0]!.dueMs - performance.now());
  };
  from.on("data", (bytes: Buffer) => {
    const { delayMs, bytesPerSecond, lossShare = 0 } = optionsNow();
    const nowMs = performance.now();
    isFreeAtMs = Math.max(isFreeAtMs, nowMs) + (1_000 * bytes.length) / bytesPerSecond;
    onTheWayBytes += bytes.length;
    if (onTheWayBytes > MOST_ON_THE_WAY_BYTES) from.pause();
    const lateMs = delayMs + (Math.random() < lossShare ? RETRANSMISSION_MS : 0);
    if (onTheWay.push({ bytes, dueMs: isFreeAtMs + lateMs }) === 1) setTimeout(deliver, lateMs);
  });
}
