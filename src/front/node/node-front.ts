import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocketServer } from "ws";
import type {
  Front,
  FrontHandlers,
  FrontLimits,
  FrontRequest,
  Headers,
  UpgradeDecision,
} from "../../../core/ports/front.js";
import { errorHeaders } from "../../../core/protocol/error-status.js";
import { BodyQueue } from "../shared/body-queue.js";
import { FloodWatch } from "../shared/flood-watch.js";
import { newRequestId } from "../shared/request-id.js";
import { parseBodyLength, parseTarget } from "../shared/request-target.js";
import { decideSafely, serveSafely } from "../shared/serve-safely.js";
import { refusedVersion } from "../shared/upgrade-version.js";
import { MessageTurns } from "./message-turns.js";
import { NodeBody } from "./node-body.js";
import { deafenBody, deafenConnection } from "./node-parser.js";
import { NodeAnswer } from "./node-response.js";
import { NodeFrontSocket } from "./node-socket.js";

const HEADER_BYTES = 16 * 1024;
/** A connection may take so long for the head of its first request, and for that of a next one, as on the native front. */
const IDLE_MS = 10_000;
const LOOK_FOR_IDLE_EVERY_MS = 2_000;
const KEEP_ALIVE_AFTER_MS = 60_000;
/** So many requests may wait for their answers on one connection, or come on it at once. */
const PIPELINED_REQUESTS = 32;
/** Connections beyond the limit that are told so at a time; those beyond are just cut. */
const TOLD_CONNECTIONS = 32;
/** How long they may take to read it. */
const REFUSAL_MS = 1_000;
/** A client that still uploads when its answer is complete may go on this long to read that answer. */
const LINGER_MS = 5_000;
/** A client whose body is refused for the way it comes may read its answer for so long. */
const REFUSED_LINGER_MS = 500;

type Refusal = Extract<UpgradeDecision, { type: "refuse" }>;

interface Connection {
  /** Requests without an answer. */
  pending: number;
  /** Requests with bodies that were read in this turn of the event loop: many may be answered in between. */
  inTurn: number;
  /** What comes on it is not heard any more. */
  isEnding: boolean;
}

/** `ws` comes with the first front of this kind: it costs 0.07 s of CPU, and the native one has no use for it. */
const require = createRequire(import.meta.url);

/** The front on Node's own HTTP server, with `ws` for WebSocket. */
export class NodeFront implements Front {
  readonly kind = "node";
  readonly #handlers: FrontHandlers;
  readonly #limits: FrontLimits;
  readonly #server: Server;
  readonly #webSockets: WebSocketServer;
  readonly #sockets = new Set<NodeFrontSocket>();
  readonly #watch = new FloodWatch();
  readonly #messageTurns = new MessageTurns();
  readonly #connections = new WeakMap<Duplex, Connection>();
  /** Connections that asked for something in this turn. */
  readonly #turn: Connection[] = [];
  #connectionCount = 0;
  #onNoSockets: (() => void) | null = null;

  constructor(handlers: FrontHandlers, limits: FrontLimits) {
    this.#handlers = handlers;
    this.#limits = limits;
    this.#server = createServer(
      {
        maxHeaderSize: HEADER_BYTES,
        // The time a whole request may take is bounded by progress, not by a fixed figure: uploads can be long.
        requestTimeout: 0,
        headersTimeout: IDLE_MS,
        connectionsCheckingInterval: LOOK_FOR_IDLE_EVERY_MS,
        keepAliveTimeout: IDLE_MS,
        keepAlive: true,
        keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS,
        // Refused by us, with a reason.
        requireHostHeader: false,
      },
      (req, res) => this.#request(req, res),
    );
    this.#server.maxConnections = limits.maxConnections + TOLD_CONNECTIONS;
    this.#server.on("connection", (socket) => this.#connected(socket));
    const ws = require("ws") as typeof import("ws");
    this.#webSockets = new ws.WebSocketServer({
      noServer: true,
      maxPayload: limits.messageBytes,
      perMessageDeflate: false,
      // Pongs are counted before they are sent.
      autoPong: false,
      // `MessageTurns` bounds what a socket brings in one turn of the event loop: deferring each message costs too much.
      allowSynchronousEvents: true,
      clientTracking: false,
    });
    this.#server.on("upgrade", (req, socket, head) => void this.#upgrade(req, socket, head));
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      if (!this.#connection(socket).isEnding) refuseUnreadable(error, socket);
    });
  }

  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const failed = (error: Error) =>
        reject(new Error(`Cannot listen on ${host}:${port}`, { cause: error }));
      this.#server.once("error", failed);
      this.#server.listen({ host, port, exclusive: true }, () => {
        this.#server.off("error", failed);
        this.#server.on("error", (error) => this.#handlers.failed(error));
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  async close(graceMs: number): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.terminate();
      this.#server.closeAllConnections();
    }, graceMs);
    this.#server.closeIdleConnections();
    // Connections that have upgraded are not the server's any more.
    if (this.#sockets.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onNoSockets = resolve;
      });
    }
    await closed;
    clearTimeout(cut);
  }

  #connected(socket: Socket): void {
    this.#connectionCount++;
    socket.once("close", () => this.#connectionCount--);
    if (this.#connectionCount <= this.#limits.maxConnections) return;
    this.#connection(socket).isEnding = true;
    const headers = { ...jsonHeaders(), ...errorHeaders("ENGINE_BUSY") };
    const body = JSON.stringify({ detail: "there are too many connections" });
    endWith(socket, { type: "refuse", status: 503, headers, body }, REFUSAL_MS);
  }

  #connection(socket: Duplex): Connection {
    let connection = this.#connections.get(socket);
    if (connection === undefined) {
      connection = { pending: 0, inTurn: 0, isEnding: false };
      this.#connections.set(socket, connection);
    }
    return connection;
  }

  #countInTurn(connection: Connection): void {
    if (connection.inTurn++ > 0) return;
    if (this.#turn.length === 0) setImmediate(() => this.#endTurn());
    this.#turn.push(connection);
  }

  #endTurn(): void {
    for (const connection of this.#turn) connection.inTurn = 0;
    this.#turn.length = 0;
  }

  #request(req: IncomingMessage, res: ServerResponse): void {
    const connection = this.#connection(req.socket);
    if (connection.isEnding) return;
    if (connection.pending === PIPELINED_REQUESTS || connection.inTurn === PIPELINED_REQUESTS) {
      connection.isEnding = true;
      this.#watch.flooded(req.socket.remoteAddress ?? "");
      endBurst(req.socket);
      return;
    }
    connection.pending++;
    const body = new BodyQueue(new NodeBody(req, this.#watch), this.#limits.stallMs);
    const abort = new AbortController();
    const request = readRequest(req, body, abort.signal);
    // Where it ends cannot be told: what follows it may be its body.
    connection.isEnding = request.malformed !== null;
    if (connection.isEnding) deafenConnection(req.socket);
    const hasBody = (request.contentLength ?? 0) > 0 || request.headers.has("transfer-encoding");
    if (hasBody) this.#countInTurn(connection);
    const answer = new NodeAnswer(res, {
      closesConnection: () => request.malformed !== null || !this.#server.listening,
      stallMs: this.#limits.stallMs,
      readerPace: this.#limits.readerPace,
    });
    req.on("data", (chunk: Buffer) => (res.writableEnded ? undefined : body.push(chunk)));
    req.on("end", () => body.complete());
    req.on("error", () => body.fail("the client left before its request was complete"));
    res.on("error", () => {
      // A write to a client that has left; `close` follows and says so.
    });
    res.on("close", () => {
      connection.pending--;
      body.fail("the client left before its request was complete");
      if (!res.writableFinished) abort.abort();
    });
    res.on("finish", () => letGo(req, body));
    void serveSafely(this.#handlers, request, answer);
  }

  async #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Told that there are too many, or that it asks for too much.
    if (this.#connection(req.socket).isEnding) return;
    const abort = new AbortController();
    const onGone = () => abort.abort();
    socket.on("error", onGone).on("close", onGone);
    const body = new BodyQueue(req, this.#limits.stallMs);
    body.complete();
    const request = readRequest(req, body, abort.signal);
    const decision =
      refusedVersion(request.header("sec-websocket-version")) ??
      (await decideSafely(this.#handlers, request));
    if (abort.signal.aborted) return;
    socket.off("error", onGone).off("close", onGone);
    if (decision.type === "refuse") {
      endWith(socket, decision);
      return;
    }
    this.#accept(req, socket, head, decision);
  }

  #accept(
    req: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    decision: Extract<UpgradeDecision, { type: "accept" }>,
  ): void {
    this.#webSockets.options.handleProtocols = () => decision.protocol ?? false;
    const addHeaders = (lines: string[]) => {
      for (const [name, value] of Object.entries(decision.headers)) lines.push(`${name}: ${value}`);
    };
    this.#webSockets.once("headers", addHeaders);
    // A handshake that is not valid is answered by `ws` itself, and the callback does not come. All of it is synchronous.
    this.#webSockets.handleUpgrade(req, socket, head, (webSocket) => {
      const front = new NodeFrontSocket({
        ws: webSocket,
        handlers: this.#handlers,
        limits: this.#limits,
        watch: this.#watch,
        turn: this.#messageTurns.of(webSocket),
        remoteAddress: req.socket.remoteAddress ?? "",
        floodClosingMessage: decision.floodClosingMessage,
        onEnded: () => {
          this.#sockets.delete(front);
          if (this.#sockets.size === 0) this.#onNoSockets?.();
        },
      });
      this.#sockets.add(front);
      front.open(decision.open);
    });
    this.#webSockets.off("headers", addHeaders);
  }
}

function readRequest(req: IncomingMessage, body: BodyQueue, signal: AbortSignal): FrontRequest {
  const target = parseTarget(req.url ?? "/");
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(req.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  const givenLength = headers.get("content-length");
  const lengths = givenLength === undefined ? [] : [givenLength];
  const problem = headProblem(req);
  const length = parseBodyLength(lengths, headers.get("transfer-encoding"));
  return {
    method: req.method ?? "GET",
    path: target.path,
    query: target.query,
    remoteAddress: req.socket.remoteAddress ?? "",
    contentLength: typeof length === "number" ? length : null,
    malformed: problem ?? (typeof length === "string" ? length : target.problem),
    body,
    signal,
    headers,
    header: (name) => headers.get(name.toLowerCase()),
  };
}

/** Node reads on in this turn, as long as there is something. What can be answered at once has been when it ends. */
function endBurst(socket: Socket): void {
  deafenConnection(socket);
  socket.pause();
  setImmediate(() => socket.destroySoon());
}

/** What Node's parser lets through and should not. */
function headProblem({ httpVersion, rawHeaders }: IncomingMessage): string | null {
  if (httpVersion !== "1.1" && httpVersion !== "1.0")
    return `the version of HTTP must be 1.1, received ${httpVersion}`;
  let hosts = 0;
  for (let nth = 0; nth < rawHeaders.length; nth += 2)
    if (rawHeaders[nth]!.length === 4 && rawHeaders[nth]!.toLowerCase() === "host") hosts++;
  if (hosts > 1) return "Host must be given once";
  return hosts === 0 && httpVersion === "1.1" ? "Host must be given" : null;
}

/** The answer is out: the rest of an unread body is dropped for a while, then the connection is cut. */
function letGo(req: IncomingMessage, body: BodyQueue): void {
  if (req.complete) return;
  if (body.isRefused) {
    // Read on, what it sends would cost more than all others.
    setTimeout(() => req.destroy(), REFUSED_LINGER_MS).unref();
    return;
  }
  body.discard();
  // Heard chunk by chunk, a body that nobody reads could cost as much as its sender likes.
  deafenBody(req.socket);
  req.resume();
  const cut = setTimeout(() => req.destroy(), LINGER_MS).unref();
  req.once("close", () => clearTimeout(cut));
}

/** Node's parser gave up on the request: there is no request to hand on, so the answer is made here. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const [status, detail] = UNREADABLE[error.code ?? ""] ?? [400, "the request is not valid HTTP"];
  const headers = { ...jsonHeaders(), ...errorHeaders("INVALID_REQUEST") };
  endWith(socket, { type: "refuse", status, headers, body: JSON.stringify({ detail }) });
}

const UNREADABLE: Readonly<Record<string, readonly [status: number, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [431, `headers hold at most ${HEADER_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, `the head of a request must come within ${IDLE_MS / 1_000} s`],
};

function jsonHeaders(): Headers {
  return {
    "content-type": "application/json",
    "x-request-id": newRequestId(),
    "access-control-allow-origin": "*",
  };
}

/** The last answer on a connection. A client that holds its end open, or reads nothing, is cut after a while. */
function endWith(socket: Duplex, refusal: Refusal, withinMs = LINGER_MS): void {
  // The client may be gone before it has read why.
  socket.on("error", () => socket.destroy());
  socket.end(rawAnswer(refusal));
  // Unread bytes would hide that it goes.
  socket.resume();
  const cut = setTimeout(() => socket.destroy(), withinMs).unref();
  socket.once("close", () => clearTimeout(cut));
}

function rawAnswer(decision: Refusal): string {
  const lines = [`HTTP/1.1 ${decision.status} ${STATUS_CODES[decision.status] ?? ""}`];
  for (const [name, value] of Object.entries(decision.headers)) lines.push(`${name}: ${value}`);
  lines.push(`content-length: ${Buffer.byteLength(decision.body)}`, "connection: close", "", decision.body);
  return lines.join("\r\n");
}
