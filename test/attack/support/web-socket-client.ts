import { RawConnection } from "./raw-connection.js";

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface FrameShape {
  readonly opcode: number;
  /** Whether this is the last frame of a message; true by default. */
  readonly isFinal?: boolean;
  /** Whether the frame is masked; true by default, because clients must mask. */
  readonly isMasked?: boolean;
  /** Reserved bits, which must not be set. */
  readonly reserved?: number;
}

/** Encodes one client frame. The mask is zero, which the server cannot notice. */
export function frame(payload: string | Uint8Array, shape: FrameShape): Buffer {
  const { opcode, isFinal = true, isMasked = true, reserved = 0 } = shape;
  const bytes = typeof payload === "string" ? Buffer.from(payload) : payload;
  const extended = bytes.length < 126 ? 0 : bytes.length < 0x1_0000 ? 2 : 8;
  const head = Buffer.alloc(2 + extended + (isMasked ? 4 : 0));
  head[0] = (isFinal ? 0x80 : 0) | (reserved << 4) | opcode;
  head[1] = (isMasked ? 0x80 : 0) | (extended === 0 ? bytes.length : extended === 2 ? 126 : 127);
  if (extended === 2) head.writeUInt16BE(bytes.length, 2);
  else if (extended === 8) head.writeBigUInt64BE(BigInt(bytes.length), 2);
  return Buffer.concat([head, bytes]);
}

/** Repeats the bytes this many times. */
export function repeated(bytes: Buffer, count: number): Buffer {
  return Buffer.alloc(bytes.length * count, bytes);
}

export interface Handshake {
  readonly port: number;
  readonly path: string;
  readonly key: string | null;
  /** WebSocket version; 13 by default. */
  readonly version?: string;
  /** Additional header lines, each with its line break. */
  readonly lines?: string;
}

/** Builds an upgrade request. */
function handshake({ path, key, version = "13", lines = "" }: Handshake): string {
  return (
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
    `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: ${version}\r\n` +
    `${key === null ? "" : `Authorization: Bearer ${key}\r\n`}${lines}\r\n`
  );
}

/** Code and reason in the service's close frame; null if the connection ended without one. */
export interface CloseFrame {
  readonly code: number;
  readonly reason: string;
}

/** A WebSocket client that writes arbitrary bytes and parses the responses. */
export class WebSocketClient {
  readonly connection: RawConnection;
  /** Status of the response to the handshake. */
  readonly status: number;
  readonly #headBytes: number;

  private constructor(connection: RawConnection, status: number, headBytes: number) {
    this.connection = connection;
    this.status = status;
    this.#headBytes = headBytes;
  }

  /** Settles with any response to the handshake. @throws if the connection ends without one */
  static async open(options: Handshake): Promise<WebSocketClient> {
    const connection = await RawConnection.open(options.port);
    await connection.write(handshake(options));
    const isAnswered = await connection.until(({ text }) => text.includes("\r\n\r\n"));
    if (!isAnswered) throw new Error("the connection ended without an answer to the handshake");
    const end = connection.text.indexOf("\r\n\r\n") + 4;
    return new WebSocketClient(connection, Number(connection.text.slice(9, 12)), end);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.connection.write(bytes);
  }

  sendText(text: string): Promise<void> {
    return this.write(frame(text, { opcode: OPCODE.text }));
  }

  /** Text messages received so far. */
  get texts(): string[] {
    return this.#frames.filter(({ opcode }) => opcode === OPCODE.text).map(({ payload }) => String(payload));
  }

  /** Text messages received so far that are JSON of this `type`. */
  messages(type: string): Record<string, unknown>[] {
    return this.texts.map((text) => JSON.parse(text)).filter((message) => message.type === type);
  }

  get closeFrame(): CloseFrame | null {
    const close = this.#frames.find(({ opcode }) => opcode === OPCODE.close);
    if (close === undefined) return null;
    const code = close.payload.length >= 2 ? close.payload.readUInt16BE(0) : 1005;
    return { code, reason: close.payload.toString("utf8", 2) };
  }

  /** Waits for a text message of this `type`. Returns false if the connection ends without one. */
  untilMessage(type: string): Promise<boolean> {
    return this.connection.until(() => this.messages(type).length > 0);
  }

  /**
   * Waits for the service's close frame, answers it and disconnects. Returns null if the connection ends
   * without one, or none arrives.
   */
  async ended(): Promise<CloseFrame | null> {
    await this.connection.until(() => this.closeFrame !== null);
    const { closeFrame } = this;
    if (closeFrame !== null) {
      void this.write(frame(new Uint8Array(0), { opcode: OPCODE.close }));
      await this.connection.until(({ isClosed }) => isClosed);
    }
    this.connection.destroy();
    return closeFrame;
  }

  /** Parses complete frames, which the service never masks. */
  get #frames(): { readonly opcode: number; readonly payload: Buffer }[] {
    const bytes = this.connection.received.subarray(this.#headBytes);
    const frames = [];
    for (let at = 0; at + 2 <= bytes.length; ) {
      const short = bytes[at + 1]! & 127;
      const head = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (at + head > bytes.length) break;
      const length =
        short < 126
          ? short
          : short === 126
            ? bytes.readUInt16BE(at + 2)
            : Number(bytes.readBigUInt64BE(at + 2));
      if (at + head + length > bytes.length) break;
      frames.push({ opcode: bytes[at]! & 15, payload: bytes.subarray(at + head, at + head + length) });
      at += head + length;
    }
    return frames;
  }
}
