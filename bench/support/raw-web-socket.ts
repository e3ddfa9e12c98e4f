import { connect, type Socket } from "node:net";

const OPCODE_TEXT = 1;
const BINARY_FRAME = 0x82;
const MASKED = 0x80;
const LENGTH_16 = 126;
const HEAD_END = "\r\n\r\n";
/** Buffer shared by all sockets: one socket's bytes are processed before the next one's are read. */
const received = Buffer.allocUnsafe(1 << 16);

/**
 * Builds a masked binary frame that can be sent many times. The mask is zero, which the server cannot detect.
 */
export function binaryFrame(payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(8 + payload.length);
  frame[0] = BINARY_FRAME;
  frame[1] = MASKED | LENGTH_16;
  frame.writeUInt16BE(payload.length, 2);
  frame.set(payload, 8);
  return frame;
}

/**
 * A WebSocket client for load: it writes prepared frames and reads only text, at a third of the cost of a
 * full client. If load and service share the cores, a full client's cost would count against the service.
 */
export class RawWebSocket {
  readonly #socket: Socket;
  readonly #onText: (text: string) => void;
  #isUpgraded = false;
  /** The start of an incomplete frame or head. */
  #rest: Buffer | null = null;

  private constructor(options: { readonly port: number; readonly onText: (text: string) => void }) {
    this.#onText = options.onText;
    this.#socket = connect({
      port: options.port,
      host: "127.0.0.1",
      noDelay: true,
      onread: {
        buffer: received,
        callback: (count: number) => {
          this.#take(received.subarray(0, count));
          return true;
        },
      },
    });
  }

  /** Resolves with the first text message, which is also passed on. */
  static open(options: {
    readonly port: number;
    readonly path: string;
    readonly key: string;
    readonly onText: (text: string) => void;
  }): Promise<RawWebSocket> {
    return new Promise((resolve, reject) => {
      const opened = new RawWebSocket({
        port: options.port,
        onText: (text) => {
          resolve(opened);
          options.onText(text);
        },
      });
      opened.#socket.once("error", reject);
      opened.#socket.once("close", () =>
        reject(new Error("the service closed a socket of the load generator")),
      );
      opened.#socket.write(
        `GET ${options.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
          `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer ${options.key}${HEAD_END}`,
      );
    });
  }

  send(frame: Buffer): void {
    this.#socket.write(frame);
  }

  terminate(): void {
    this.#socket.destroy();
  }

  #take(fresh: Buffer): void {
    let bytes = this.#rest === null ? fresh : Buffer.concat([this.#rest, fresh]);
    if (!this.#isUpgraded) {
      const end = bytes.indexOf(HEAD_END);
      if (end >= 0) this.#isUpgraded = true;
      bytes = end >= 0 ? bytes.subarray(end + HEAD_END.length) : bytes;
    }
    const taken = this.#isUpgraded ? this.#takeFrames(bytes) : 0;
    this.#rest = taken === bytes.length ? null : Buffer.from(bytes.subarray(taken));
  }

  /** Passes on complete frames and returns their total size in bytes. */
  #takeFrames(bytes: Buffer): number {
    let at = 0;
    while (at + 2 <= bytes.length) {
      const short = bytes[at + 1]!;
      const head = short === LENGTH_16 ? 4 : 2;
      if (short > LENGTH_16)
        throw new Error("the service sent a longer message than the load generator supports");
      if (at + head > bytes.length) break;
      const length = head === 4 ? bytes.readUInt16BE(at + 2) : short;
      if (at + head + length > bytes.length) break;
      if ((bytes[at]! & 15) === OPCODE_TEXT)
        this.#onText(bytes.toString("latin1", at + head, at + head + length));
      at += head + length;
    }
    return at;
  }
}
