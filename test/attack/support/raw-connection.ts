import { connect, type Socket } from "node:net";

const LIMIT_MS = 90_000;

/** A TCP connection on which the attacker controls every byte. */
export class RawConnection {
  readonly socket: Socket;
  /** Settles when both directions have ended, for whatever reason. */
  readonly closed: Promise<void>;
  readonly #chunks: Buffer[] = [];
  readonly #waiters = new Set<() => void>();
  #isClosed = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (bytes) => {
      this.#chunks.push(bytes);
      this.#wake();
    });
    socket.on("error", () => {
      // `close` always follows, and attacks use only that.
    });
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        this.#isClosed = true;
        this.#wake();
        resolve();
      });
    });
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const connection = new RawConnection(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    return connection;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** All bytes received so far. */
  get received(): Buffer {
    if (this.#chunks.length > 1) this.#chunks.splice(0, Infinity, Buffer.concat(this.#chunks));
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  /** The received bytes as text, one character per byte. */
  get text(): string {
    return this.received.toString("latin1");
  }

  /** Settles when the bytes have left this process, or the connection has ended. */
  write(bytes: string | Uint8Array): Promise<void> {
    if (this.socket.destroyed) return this.closed;
    const written = new Promise<void>((resolve) => {
      this.socket.write(bytes, () => resolve());
    });
    return Promise.race([written, this.closed]);
  }

  /**
   * Waits until `isSo` holds for the received bytes. Returns false if the connection ends first, or after
   * `limitMs`.
   */
  async until(isSo: (connection: this) => boolean, limitMs = LIMIT_MS): Promise<boolean> {
    // Timers may fire a little early, so the clock cannot tell that the time is over.
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      this.#wake();
    }, limitMs);
    try {
      for (;;) {
        if (isSo(this)) return true;
        if (this.#isClosed || isOver) return false;
        await new Promise<void>((resolve) => this.#waiters.add(resolve));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends this direction. */
  end(): void {
    this.socket.end();
  }

  /** Disconnects immediately, like a killed client. */
  destroy(): void {
    this.socket.destroy();
  }

  #wake(): void {
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }
}
