import { connect, type Socket } from "node:net";
import { within } from "../support/pace.js";

/** Idle connections are closed within 10 s, in steps of up to 4 s; a busy machine may need longer. */
const CLOSED_WITHIN_MS = 40_000;

/** A connection on which the test controls every byte. */
export class Client {
  readonly #socket: Socket;
  readonly #closed: Promise<void>;
  #awaited: {
    readonly texts: string[];
    readonly resolve: () => void;
    readonly reject: (error: Error) => void;
  } | null = null;
  /** Offset from which the next text is expected. */
  #from = 0;
  text = "";

  private constructor(socket: Socket) {
    this.#socket = socket;
    // Some connections are reset.
    socket.on("error", () => {});
    // It keeps its end open: only a socket closed by the other side rejects more bytes.
    socket.once("end", () => {
      const more = setInterval(() => socket.write("more"), 100);
      socket.once("close", () => clearInterval(more));
    });
    socket.on("data", (bytes: Buffer) => {
      this.text += bytes.toString("latin1");
      this.#look();
    });
    this.#closed = new Promise((resolve) => {
      socket.once("close", () => {
        this.#awaited?.reject(new Error(`closed after ${JSON.stringify(this.text.slice(-300))}`));
        resolve();
      });
    });
  }

  static connect(port: number): Promise<Client> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      socket.once("error", reject);
      socket.once("connect", () => resolve(new Client(socket)));
    });
  }

  get answers(): number {
    return this.text.match(/HTTP\/1\.1 /g)?.length ?? 0;
  }

  send(text: string): void {
    this.#socket.write(text, "latin1");
  }

  end(): void {
    this.#socket.destroy();
  }

  /** Settles once these have arrived, in order. @throws if the connection ends first */
  received(...texts: string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#awaited = { texts, resolve, reject };
      this.#look();
      if (this.#socket.closed) reject(new Error("closed"));
    });
  }

  /** Settles once the other side has ended the connection. @throws if it does not */
  async closed(): Promise<void> {
    const what = `the end, having received ${JSON.stringify(this.text.slice(0, 300))}`;
    await within(CLOSED_WITHIN_MS, what, this.#closed).finally(() => this.#socket.destroy());
  }

  #look(): void {
    const awaited = this.#awaited;
    while (awaited !== null && awaited.texts.length > 0) {
      const at = this.text.indexOf(awaited.texts[0]!, this.#from);
      if (at < 0) return;
      this.#from = at + awaited.texts[0]!.length;
      awaited.texts.shift();
    }
    if (awaited === null) return;
    this.#awaited = null;
    awaited.resolve();
  }
}
