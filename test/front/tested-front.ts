import { randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { WebSocket } from "ws";
import type {
  Front,
  FrontHandlers,
  FrontLimits,
  FrontRequest,
  FrontResponse,
  FrontSocket,
  UpgradeDecision,
} from "../../core/ports/front.js";
import { eventually } from "../support/eventually.js";

export const LIMITS: FrontLimits = {
  messageBytes: 64 * 1024,
  stallMs: 30_000,
  readerPace: { leastBytesPerS: 1, graceMs: 60_000 },
  closingMs: 1_000,
  maxConnections: 10_000,
};

/** Far longer than a busy machine needs. */
export const PATIENCE_MS = 60_000;

export type MakeFront = (handlers: FrontHandlers, limits: FrontLimits) => Front;

type Handle = (request: FrontRequest, response: FrontResponse) => Promise<void>;

/** A front on a free port; each test sets what it answers. */
export class TestedFront {
  readonly name: string;
  /** A close takes effect a moment later. */
  readonly inThreads: boolean;
  readonly failures: unknown[] = [];
  handle: Handle = answerText("unset");
  decide: (request: FrontRequest) => Promise<UpgradeDecision> = async () => refused(404);
  port = 0;
  readonly #makeFront: MakeFront;
  #front: Front | null = null;

  constructor(name: string, makeFront: MakeFront, inThreads: boolean) {
    this.name = name;
    this.#makeFront = makeFront;
    this.inThreads = inThreads;
  }

  get base(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    this.#front = this.another();
    this.port = await this.#front.listen("127.0.0.1", 0);
  }

  async stop(): Promise<void> {
    await this.#front?.close(100);
  }

  /** Returns another front with the same handlers, for a test that closes it. */
  another(): Front {
    const handlers: FrontHandlers = {
      request: (request, response) => this.handle(request, response),
      upgrade: (request) => this.decide(request),
      failed: (error) => this.failures.push(error),
    };
    return this.#makeFront(handlers, LIMITS);
  }
}

export function answerText(text: string): Handle {
  return async (_request, response) => {
    response.start(200, { "content-type": "text/plain" });
    await response.end(Buffer.from(text));
  };
}

export function refused(status: number): UpgradeDecision {
  const headers = { "content-type": "application/json", "x-svc-error": "key_invalid" };
  return { type: "refuse", status, headers, body: '{"detail":"no"}' };
}

type Accept = Extract<UpgradeDecision, { type: "accept" }>;

export function accepted(protocol: string | null, open: Accept["open"]): Accept {
  return { type: "accept", protocol, headers: {}, open };
}

export function echo(socket: FrontSocket) {
  return {
    text: (text: string) => socket.sendText(text),
    binary: (bytes: Uint8Array) => socket.sendBinary(Uint8Array.from(bytes)),
    closed: () => {},
  };
}

export function once(
  emitter: { once(event: string, listener: (...args: unknown[]) => void): unknown },
  event: string,
): Promise<unknown[]> {
  return new Promise((resolve) => emitter.once(event, (...args) => resolve(args)));
}

export async function message(socket: WebSocket): Promise<[string | Buffer, boolean]> {
  const [data, isBinary] = (await once(socket, "message")) as [Buffer, boolean];
  return [isBinary ? data : String(data), isBinary];
}

export function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.on("error", reject);
  });
}

/** A front in other threads stops listening a moment later. */
export async function untilRefused(port: number): Promise<void> {
  await eventually("new connections are refused", () =>
    open(port).then(
      (socket) => {
        socket.destroy();
        return false;
      },
      () => true,
    ),
  );
}

/**
 * Sends the texts on one connection, each after the response headers of the previous one, and returns
 * everything received until it closes.
 */
export async function raw(port: number, ...texts: string[]): Promise<string> {
  const socket = await open(port);
  let text = "";
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("data", (bytes) => {
    text += bytes.toString();
  });
  for (const [sent, request] of texts.entries()) {
    await eventually("an answer", () => socket.destroyed || text.split("\r\n\r\n").length > sent);
    socket.write(request);
  }
  await closed;
  return text;
}

export async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk);
  } catch {
    // For a cut connection, the data received so far counts.
  }
  return Buffer.concat(chunks).toString();
}

export function get(port: number, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpRequest({ port, path, host: "127.0.0.1", agent: false }, resolve).on("error", reject).end();
  });
}

export function upload(
  port: number,
  bytes: Buffer,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { port, host: "127.0.0.1", method: "POST", headers, agent: false },
      (answer) =>
        void textOf(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject),
    );
    request.on("error", reject);
    for (let start = 0; start < bytes.length; start += 100_000)
      request.write(bytes.subarray(start, start + 100_000));
    request.end();
  });
}

export function handshakeText(headers: Record<string, string>): string {
  const all = {
    host: "x",
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": randomBytes(16).toString("base64"),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
}

export function handshake(port: number, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers });
    socket.on("unexpected-response", (_request, answer) => resolve(answer));
    socket.on("error", reject);
  });
}
