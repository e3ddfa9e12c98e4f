import { once } from "node:events";
import { WebSocket } from "ws";

/** A live socket that keeps the messages it receives. */
export class LiveSocketClient {
  readonly #socket: WebSocket;
  readonly messages: Record<string, unknown>[] = [];
  /** Settles with the close code. */
  readonly closed: Promise<number>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => this.messages.push(JSON.parse(String(data))));
    this.closed = once(socket, "close").then(([code]) => code as number);
  }

  /** Settles with an open socket, or with the status that rejected the upgrade. */
  static async open(port: number, path: string, key: string | null): Promise<LiveSocketClient | number> {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
    const client = new LiveSocketClient(socket);
    return new Promise((resolve, reject) => {
      socket.once("open", () => resolve(client));
      socket.once("unexpected-response", (request, { statusCode }) => {
        request.destroy();
        resolve(statusCode ?? 0);
      });
      socket.once("error", reject);
    });
  }

  /** Sends seconds of silence at 16 kHz. */
  sendSilence(seconds: number): void {
    this.#socket.send(Buffer.alloc(seconds * 32_000));
  }

  /** Settles with the first message of this type. */
  async message(type: string): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.messages.find((message) => message["type"] === type);
      if (found !== undefined) return found;
      await Promise.race([
        once(this.#socket, "message"),
        this.closed.then((code) => {
          throw new Error(`the socket closed with ${code} before "${type}" came`);
        }),
      ]);
    }
  }

  close(): void {
    this.#socket.terminate();
  }
}
