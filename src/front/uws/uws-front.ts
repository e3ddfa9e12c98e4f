import { STATUS_CODES } from "node:http";
import { CLOSE } from "../../../core/domain/close-codes.js";
import type {
  Front,
  FrontHandlers,
  FrontLimits,
  FrontRequest,
  UpgradeDecision,
} from "../../../core/ports/front.js";
import { BodyQueue } from "../shared/body-queue.js";
import { openDescriptors } from "../shared/descriptors.js";
import type { Verdict } from "../shared/live-messages.js";
import { FloodWatch } from "../shared/rate-limits.js";
import { parseBodyLength, parseTarget, refusedVersion } from "../shared/request-head.js";
import { callSafely, closeFlooded, decideSafely, serveSafely } from "../shared/serve-safely.js";
import type { UwsApp, UwsBinding, UwsRequest, UwsResponse, UwsSocket } from "./uws-binding.js";
import { UwsCorkHost } from "./uws-cork-host.js";
import { UwsGate } from "./uws-gate.js";
import { UwsAnswer, UwsReading } from "./uws-response.js";
import { UwsFrontSocket, type UwsSocketData } from "./uws-socket.js";

/** Messages up to this multiple of the limit get a close code. Beyond it, the library just disconnects. */
const HARD_LIMIT_FACTOR = 4;
const IDLE_SECONDS = 120;
/** The library's HTTP timer, in steps of 4 s. The fork has it built in; in 20.57 the default is 30 s. */
const TIMER_SECONDS = 10;
/** Refused as in RFC 6455, section 4.2.1. */
const NOT_AN_UPGRADE: Refusal = {
  type: "refuse",
  status: 400,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ detail: "to open a WebSocket the Connection header must list upgrade" }),
};

type Refusal = Extract<UpgradeDecision, { type: "refuse" }>;

export interface UwsFrontOptions {
  /** Whether other threads of this process listen on the same port. */
  readonly sharesPort?: boolean;
  /**
   * Number of descriptors that are not connections; by default those open when the front starts to listen.
   */
  readonly ownDescriptors?: number | null;
}

/** The native front. Handlers must never throw into the library, because that would end the process. */
export class UwsFront implements Front {
  readonly kind = "uws";
  readonly #binding: UwsBinding;
  readonly #handlers: FrontHandlers;
  readonly #limits: FrontLimits;
  readonly #listenOptions: number;
  readonly #ownDescriptors: number | null | undefined;
  readonly #app: UwsApp;
  readonly #corkHost: UwsCorkHost;
  readonly #answers = new Set<UwsAnswer>();
  readonly #sockets = new Set<UwsFrontSocket>();
  readonly #turn = new UwsTurn();
  readonly #watch = new FloodWatch();
  #listenSocket: object | null = null;
  #gate: UwsGate | null = null;
  #onQuiet: (() => void) | null = null;
  #isClosed = false;

  constructor(
    binding: UwsBinding,
    handlers: FrontHandlers,
    limits: FrontLimits,
    { sharesPort = false, ownDescriptors }: UwsFrontOptions = {},
  ) {
    this.#binding = binding;
    this.#listenOptions = sharesPort ? 0 : binding.LIBUS_LISTEN_EXCLUSIVE_PORT;
    this.#ownDescriptors = ownDescriptors;
    this.#handlers = handlers;
    this.#limits = limits;
    this.#app = binding.App();
    this.#app.setIdleTimeout?.(TIMER_SECONDS);
    this.#app.setResponseTimeout?.(TIMER_SECONDS);
    this.#corkHost = new UwsCorkHost(binding, handlers.failed);
    this.#app.ws("/*", {
      maxPayloadLength: limits.messageBytes * HARD_LIMIT_FACTOR,
      // The owner of a socket limits its unread messages, so the library must not drop any.
      maxBackpressure: 0x7fff_ffff,
      idleTimeout: IDLE_SECONDS,
      sendPingsAutomatically: true,
      upgrade: (res, req, context) => this.#upgrade(res, req, context),
      open: (ws) => socketOf(ws).opened(ws),
      message: (ws, message, isBinary) => this.#message(ws, message, isBinary),
      // Each ping leaves a pong in a buffer that its client need not empty. Pongs leave nothing.
      ping: (ws) => void this.#takes(socketOf(ws), socketOf(ws).budget.control()),
      drain: (ws) => socketOf(ws).flush(),
      close: (ws, code, reason) => this.#socketClosed(ws, code, reason),
    });
    this.#app.any("/*", (res, req) => this.#request(res, req));
  }

  async listen(host: string, port: number): Promise<number> {
    const socket = this.#listen(host, port);
    if (socket === null)
      throw new Error(
        `Cannot listen on ${host}:${port}: the port is in use, or the address is not on this machine`,
      );
    const ownPort = this.#binding.us_socket_local_port(socket);
    await this.#corkHost.open();
    this.#gate = new UwsGate({
      maxConnections: this.#limits.maxConnections,
      ownDescriptors: this.#ownDescriptors === undefined ? openDescriptors() : this.#ownDescriptors,
      open: () => this.#listen(host, ownPort) !== null,
      shut: () => this.#stopListening(),
      failed: this.#handlers.failed,
    });
    this.#gate.watch();
    return ownPort;
  }

  async close(graceMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#gate?.close();
    this.#stopListening();
    await this.#quiet(graceMs);
    // The last responses leave the library's buffers in the next turn of its event loop.
    await new Promise((resolve) => setTimeout(resolve, 20));
    this.#app.close();
    this.#corkHost.close();
  }

  /** This is synchronous: the library calls back before `listen` returns. */
  #listen(host: string, port: number): object | null {
    this.#app.listen(host, port, this.#listenOptions, (socket) => {
      this.#listenSocket = socket === false ? null : socket;
    });
    return this.#listenSocket;
  }

  #stopListening(): void {
    if (this.#listenSocket !== null) this.#binding.us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = null;
  }

  #request(res: UwsResponse, req: UwsRequest): void {
    const abort = new AbortController();
    const reading = new UwsReading(res, this.#watch);
    const body = new BodyQueue(reading, this.#limits.stallMs);
    const request = readRequest(res, req, body, abort.signal);
    reading.remoteAddress = request.remoteAddress;
    const answer = new UwsAnswer(res, {
      isHead: request.method === "HEAD",
      closesConnection: request.malformed !== null,
      stallMs: this.#limits.stallMs,
      readerPace: this.#limits.readerPace,
      reading,
      isBodyRefused: () => body.isRefused,
      onOver: () => {
        body.fail("the response is complete");
        this.#answers.delete(answer);
        this.#checkQuiet();
      },
    });
    this.#answers.add(answer);
    res.onAborted(() => {
      answer.aborted();
      body.fail("the client left before its request was complete");
      abort.abort();
    });
    const hasBody = bringsBody(request);
    if (hasBody) {
      res.onData((chunk, isLast) => {
        if (isLast) reading.complete();
        // Do nothing for refused bodies: one read contains up to 87,000 chunks.
        else if (body.isRefused) return;
        else reading.arrived();
        if (answer.isOver) return answer.bodyArrived(chunk.byteLength);
        body.push(new Uint8Array(chunk), true);
        if (isLast) body.complete();
      });
    } else {
      reading.complete();
      body.complete();
    }
    const serve = () => void serveSafely(this.#handlers, request, answer);
    // With an earlier response, the library would lose its idle timer while the body is parsed. After a
    // malformed head, it would continue where it believes the next request starts.
    if (!hasBody && request.malformed === null && this.#turn.hasRoom()) serve();
    else this.#turn.after(() => (answer.isOver ? undefined : serve()));
  }

  #upgrade(res: UwsResponse, req: UwsRequest, context: object): void {
    const abort = new AbortController();
    const body = new BodyQueue(res, this.#limits.stallMs);
    body.complete();
    const request = readRequest(res, req, body, abort.signal);
    const key = req.getHeader("sec-websocket-key");
    const isUpgrade = /\bupgrade\b/i.test(req.getHeader("connection"));
    const versionRefusal = refusedVersion(req.getHeader("sec-websocket-version"));
    res.onAborted(() => abort.abort());
    const decide = async () => {
      if (abort.signal.aborted) return;
      // Without `Connection: upgrade`, the library would upgrade the socket and then close it.
      const refusal = isUpgrade ? versionRefusal : NOT_AN_UPGRADE;
      const decision = refusal ?? (await decideSafely(this.#handlers, request));
      if (abort.signal.aborted) return;
      if (decision.type === "refuse") return refuse(res, decision);
      this.#accept(res, decision, key, context);
    };
    if (this.#turn.hasRoom()) void decide();
    else this.#turn.after(decide);
  }

  #accept(
    res: UwsResponse,
    decision: Extract<UpgradeDecision, { type: "accept" }>,
    key: string,
    context: object,
  ): void {
    const socket = new UwsFrontSocket(this.#limits.closingMs, decision);
    this.#sockets.add(socket);
    const data: UwsSocketData = { socket };
    this.#corkHost.run(() => {
      res.writeStatus("101 Switching Protocols");
      for (const [name, value] of Object.entries(decision.headers)) res.writeHeader(name, value);
      res.upgrade(data, key, decision.protocol ?? "", "", context);
    });
    callSafely(
      this.#handlers,
      () => socket.attach(decision.open(socket)),
      () => socket.terminate(),
    );
  }

  #message(ws: UwsSocket, message: ArrayBuffer, isBinary: boolean): void {
    const socket = socketOf(ws);
    const { budget } = socket;
    if (!this.#takes(socket, isBinary ? budget.binary(message.byteLength) : budget.text(message.byteLength)))
      return;
    if (message.byteLength > this.#limits.messageBytes) {
      socket.close(CLOSE.messageTooLong, `a message must be at most ${this.#limits.messageBytes} bytes`);
      return;
    }
    const events = socket.events;
    if (events === null) return;
    callSafely(
      this.#handlers,
      () =>
        isBinary ? events.binary(new Uint8Array(message)) : events.text(Buffer.from(message).toString()),
      () => socket.close(CLOSE.internal, "internal error"),
    );
  }

  /**
   * Returns whether to deliver a message. The library reads half a megabyte of messages in one turn and
   * cannot be paused, but dropping a message costs a hundredth of delivering it.
   */
  #takes(socket: UwsFrontSocket, verdict: Verdict): boolean {
    if (verdict === "take") return true;
    if (verdict === "cut") socket.terminate();
    else if (verdict === "flood") this.#flooded(socket);
    return false;
  }

  #flooded(socket: UwsFrontSocket): void {
    const { events } = socket;
    callSafely(this.#handlers, () => events?.flooded?.());
    closeFlooded(socket, socket.floodClosing);
  }

  #socketClosed(ws: UwsSocket, code: number, reason: ArrayBuffer): void {
    const socket = socketOf(ws);
    this.#sockets.delete(socket);
    const events = socket.ended();
    const text = Buffer.from(reason).toString();
    callSafely(this.#handlers, () => events?.closed(code, text));
    this.#checkQuiet();
  }

  /** Settles when no work is left, or after `graceMs`. */
  async #quiet(graceMs: number): Promise<void> {
    if (this.#answers.size + this.#sockets.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#onQuiet = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #checkQuiet(): void {
    if (this.#answers.size + this.#sockets.size === 0) this.#onQuiet?.();
  }
}

function readRequest(res: UwsResponse, req: UwsRequest, body: BodyQueue, signal: AbortSignal): FrontRequest {
  const headers = new Map<string, string>();
  const lengths: string[] = [];
  let hosts = 0;
  req.forEach((name, value) => {
    if (name === "content-length") lengths.push(value);
    else if (name === "host") hosts++;
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  });
  const queryText = req.getQuery();
  const target = parseTarget(queryText ? `${req.getUrl()}?${queryText}` : req.getUrl());
  const length = parseBodyLength(lengths, headers.get("transfer-encoding"));
  return {
    method: req.getCaseSensitiveMethod().toUpperCase(),
    path: target.path,
    query: target.query,
    remoteAddress: Buffer.from(res.getRemoteAddressAsText()).toString(),
    contentLength: typeof length === "number" ? length : null,
    malformed: hosts > 1 ? "send Host only once" : typeof length === "string" ? length : target.problem,
    body,
    signal,
    headers,
    header: (name) => headers.get(name.toLowerCase()),
  };
}

function bringsBody({ malformed, contentLength, headers }: FrontRequest): boolean {
  return malformed === null && ((contentLength ?? 0) > 0 || headers.has("transfer-encoding"));
}

function refuse(res: UwsResponse, decision: Refusal): void {
  res.cork(() => {
    res.writeStatus(`${decision.status} ${STATUS_CODES[decision.status] ?? ""}`);
    for (const [name, value] of Object.entries(decision.headers)) res.writeHeader(name, value);
    res.end(Buffer.from(decision.body), true);
  });
}

function socketOf(ws: UwsSocket): UwsFrontSocket {
  return (ws.getUserData() as UwsSocketData).socket;
}

/** Most requests that may be answered in the turn of the event loop that reads them. */
const REQUESTS_PER_TURN = 32;

/**
 * Counts the requests of one turn of the event loop, and postpones work on those beyond a limit.
 *
 * The library parses all pipelined requests of one read in one turn, up to 15,000. It cuts the connection if
 * a request arrives before the previous one is answered. So postponing responses ends a burst at no cost to
 * other connections.
 */
class UwsTurn {
  readonly #waiting: (() => void)[] = [];
  #requestCount = 0;
  #isEndDue = false;

  /** Counts a request and returns whether it may be answered in this turn. */
  hasRoom(): boolean {
    this.#awaitEnd();
    return ++this.#requestCount <= REQUESTS_PER_TURN;
  }

  /** Calls `act` when everything read in this turn has been parsed. */
  after(act: () => void): void {
    this.#awaitEnd();
    this.#waiting.push(act);
  }

  #awaitEnd(): void {
    if (this.#isEndDue) return;
    this.#isEndDue = true;
    setImmediate(() => {
      this.#requestCount = 0;
      this.#isEndDue = false;
      for (const act of this.#waiting.splice(0)) act();
    });
  }
}
