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
  UpgradeDecision,
} from "../../../core/ports/front.js";
import { errorHeaders } from "../../../core/protocol/error-status.js";
import { BodyQueue } from "../shared/body-queue.js";
import { FloodWatch } from "../shared/rate-limits.js";
import { jsonHeaders, parseBodyLength, parseTarget, refusedVersion } from "../shared/request-head.js";
import { decideSafely, serveSafely } from "../shared/serve-safely.js";
import { ignoreBody, ignoreConnection, nodeBody } from "./node-body.js";
import { NodeAnswer } from "./node-response.js";
import { MessageTurns, NodeFrontSocket } from "./node-socket.js";

const HEADER_BYTES = 16 * 1024;
/** Time allowed for the head of each request on a connection, as on the native front. */
const IDLE_MS = 10_000;
const LOOK_FOR_IDLE_EVERY_MS = 2_000;
const KEEP_ALIVE_AFTER_MS = 60_000;
/** Most requests that may wait for responses on one connection, or arrive on it in one turn. */
const PIPELINED_REQUESTS = 32;
/** Most connections beyond the limit that get a 503 at the same time; others are cut. */
const REJECTED_CONNECTIONS = 32;
/** Time for a rejected client to read the 503. */
const REJECTION_MS = 1_000;
/** Time for a client that is still uploading to read a complete response. */
const LINGER_MS = 5_000;
/** The same, for a client whose body is rejected for its tiny chunks. */
const REFUSED_LINGER_MS = 500;

type Refusal = Extract<UpgradeDecision, { type: "refuse" }>;

interface Connection {
  pending: number;
  /** Number of requests with bodies in this turn of the event loop; many may already have been answered. */
  inTurn: number;
  /** True once further input is ignored. */
  isEnding: boolean;
}

/** Load `ws` with the first front of this kind: it costs 0.07 s of CPU. */
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
  /** Connections that received requests in this turn. */
  readonly #turn: Connection[] = [];
  #connectionCount = 0;
  #onNoSockets: (() => void) | null = null;

  constructor(handlers: FrontHandlers, limits: FrontLimits) {
    this.#handlers = handlers;
    this.#limits = limits;
    this.#server = createServer(
      {
        maxHeaderSize: HEADER_BYTES,
        // Uploads may be long; their progress is limited instead.
        requestTimeout: 0,
        headersTimeout: IDLE_MS,
        connectionsCheckingInterval: LOOK_FOR_IDLE_EVERY_MS,
        keepAliveTimeout: IDLE_MS,
        keepAlive: true,
        keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS,
        // We reject such requests ourselves, with a reason.
        requireHostHeader: false,
      },
      (req, res) => this.#request(req, res),
    );
    this.#server.maxConnections = limits.maxConnections + REJECTED_CONNECTIONS;
    this.#server.on("connection", (socket) => this.#connected(socket));
    const ws = require("ws") as typeof import("ws");
    this.#webSockets = new ws.WebSocketServer({
      noServer: true,
      maxPayload: limits.messageBytes,
      perMessageDeflate: false,
      // We answer pings ourselves, after counting them.
      autoPong: false,
      // Deferring every message costs too much; `MessageTurns` limits the messages per turn instead.
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
    // Node's server does not count upgraded connections.
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
    endWith(socket, { type: "refuse", status: 503, headers, body }, REJECTION_MS);
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
    const body = new BodyQueue(nodeBody(req, this.#watch), this.#limits.stallMs);
    const abort = new AbortController();
    const request = readRequest(req, body, abort.signal);
    // A malformed request has no known end: the next bytes may be its body.
    connection.isEnding = request.malformed !== null;
    if (connection.isEnding) ignoreConnection(req.socket);
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
      // The client has left; `close` follows.
    });
    res.on("close", () => {
      connection.pending--;
      body.fail("the client left before its request was complete");
      if (!res.writableFinished) abort.abort();
    });
    res.on("finish", () => finishUpload(req, body));
    void serveSafely(this.#handlers, request, answer);
  }

  async #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
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
    // This call is synchronous. `ws` answers invalid handshakes itself, without calling back.
    this.#webSockets.handleUpgrade(req, socket, head, (webSocket) => {
      const front = new NodeFrontSocket({
        ws: webSocket,
        handlers: this.#handlers,
        limits: this.#limits,
        watch: this.#watch,
        turn: this.#messageTurns.of(webSocket),
        remoteAddress: req.socket.remoteAddress ?? "",
        floodClosing: decision.floodClosing,
        hasAudioInText: decision.hasAudioInText,
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

/** Closes a connection after this turn, when requests that can be answered immediately have been. */
function endBurst(socket: Socket): void {
  ignoreConnection(socket);
  socket.pause();
  setImmediate(() => socket.destroySoon());
}

/** Returns why a request is malformed, for requests that Node's parser accepts; null for valid ones. */
function headProblem({ httpVersion, rawHeaders }: IncomingMessage): string | null {
  if (httpVersion !== "1.1" && httpVersion !== "1.0")
    return `the version of HTTP must be 1.1, received ${httpVersion}`;
  let hosts = 0;
  for (let nth = 0; nth < rawHeaders.length; nth += 2)
    if (rawHeaders[nth]!.length === 4 && rawHeaders[nth]!.toLowerCase() === "host") hosts++;
  if (hosts > 1) return "send Host only once";
  return hosts === 0 && httpVersion === "1.1" ? "the Host header is missing" : null;
}

/** After the response, drops the rest of an unread body for up to `LINGER_MS`, then cuts the connection. */
function finishUpload(req: IncomingMessage, body: BodyQueue): void {
  if (req.complete) return;
  if (body.isRefused) {
    // Reading the rest would cost more than serving all other clients.
    setTimeout(() => req.destroy(), REFUSED_LINGER_MS).unref();
    return;
  }
  body.discard();
  // Even an unread body is expensive if it is delivered chunk by chunk.
  ignoreBody(req.socket);
  req.resume();
  const cut = setTimeout(() => req.destroy(), LINGER_MS).unref();
  req.once("close", () => clearTimeout(cut));
}

function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const [status, detail] = UNREADABLE[error.code ?? ""] ?? [400, "the request is not valid HTTP"];
  const headers = { ...jsonHeaders(), ...errorHeaders("INVALID_REQUEST") };
  endWith(socket, { type: "refuse", status, headers, body: JSON.stringify({ detail }) });
}

const UNREADABLE: Readonly<Record<string, readonly [status: number, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [431, `headers must be at most ${HEADER_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, `the head of a request must arrive within ${IDLE_MS / 1_000} s`],
};

/** Sends the last response on a connection. A client that does not close its end is cut after `withinMs`. */
function endWith(socket: Duplex, refusal: Refusal, withinMs = LINGER_MS): void {
  socket.on("error", () => socket.destroy());
  socket.end(rawAnswer(refusal));
  // Unread bytes would hide that the client has closed its end.
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
