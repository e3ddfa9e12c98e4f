import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { encode } from "@msgpack/msgpack";
import { type WebSocket, WebSocketServer } from "ws";
import type { Report } from "../../src/conformance/conformance.js";
import type { Answer, Trace } from "../../src/conformance/trace.js";

export type Records = Pick<Report, "traces" | "answers">;

export interface ReplayServer {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts a server on a real socket that replays what a recorded server sent, session by session. It waits for
 * each step of the client before it sends the messages that followed that step.
 */
export async function startReplay({ traces, answers }: Records): Promise<ReplayServer> {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === "/v1/stream/token") {
      response.end('{"token":"st-svc-1","expires_in":60}');
      return;
    }
    const answer = required(answers, nameOf(request));
    const {
      "transfer-encoding": _framing,
      "content-length": _length,
      connection: _,
      ...headers
    } = answer.headers;
    response.writeHead(answer.status, headers).end(answer.bytes);
  });
  const seen = new Set<string>();
  server.on("upgrade", (request, socket, head) => {
    // A client may leave at any time.
    socket.on("error", () => {});
    const name = nameOf(request);
    // This is the first use of the token that is used twice.
    const isFirstUse = name === "used token" && !seen.has(name);
    seen.add(name);
    const trace = required(traces, isFirstUse ? "token in query" : name);
    if (trace.refusal !== null) {
      const { status, body } = trace.refusal;
      const length = Buffer.byteLength(body);
      socket.end(
        `HTTP/1.1 ${status} Refused\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`,
      );
      return;
    }
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => trace.protocol || false });
    sockets.handleUpgrade(request, socket, head, (open) =>
      play(
        open.on("error", () => {}),
        trace,
      ),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { url: `http://127.0.0.1:${portOf(server)}`, stop: () => stop(server) };
}

function play(socket: WebSocket, { entries, closeCode }: Trace): void {
  const waiting = [...entries];
  const proceed = () => {
    for (let next = waiting[0]; next !== undefined && "received" in next; next = waiting[0]) {
      waiting.shift();
      if (next.isBinary) socket.send(encode(next.received));
      else socket.send(JSON.stringify(next.received));
    }
    if (waiting.length === 0) socket.close(closeCode ?? 1000);
  };
  let arrived = 0;
  socket.on("message", () => {
    const step = waiting[0];
    if (step === undefined || !("sent" in step) || ++arrived < step.messageCount) return;
    arrived = 0;
    waiting.shift();
    proceed();
  });
  proceed();
}

function nameOf({ headers }: IncomingMessage): string {
  return decodeURIComponent(/\((.*)\)/.exec(headers["user-agent"] ?? "")?.[1] ?? "");
}

function required<T extends Answer | Trace>(records: ReadonlyMap<string, T>, name: string): T {
  const found = records.get(name);
  assert.ok(found !== undefined, `nothing was recorded for "${name}"`);
  return found;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((settle) => server.close(settle));
}
