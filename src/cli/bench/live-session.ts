import { connect, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { WebSocket } from "ws";
import { clientFrame } from "./frames.js";
import type { LiveEvent, LiveOptions, LiveWire } from "./live-wires.js";
import type { Pacer } from "./pacer.js";
import { refusalReason } from "./refusal.js";
import { MESSAGE_MS, type SpokenPlan } from "./spoken-plan.js";

/** A service that does not answer within this time after the audio counts as failed. */
const LAST_ANSWER_MS = 30_000;
const CONNECT_MS = 60_000;
/** A service that leaves this many bytes unread has stopped reading. */
const MOST_UNREAD_BYTES = 4_000_000;
/** Number of reads, of at most 64 KB each. */
const MOST_REFUSAL_PARTS = 16;

export interface TimedEvent {
  readonly event: LiveEvent;
  readonly atMs: number;
}

/** Everything that a session sent and received. Times are those of `performance.now()`. */
export interface SessionRun {
  readonly events: readonly TimedEvent[];
  /** Time from when the session was due until `ready`; null if it never became ready. */
  readonly readyMs: number | null;
  /** When the session spoke its first sample. */
  readonly startedAtMs: number;
  readonly sentSeconds: number;
  readonly failure: string | null;
  readonly credits: number | null;
}

export interface SessionParts {
  readonly url: string;
  readonly key: string;
  readonly wire: LiveWire;
  readonly options: LiveOptions;
  readonly plan: SpokenPlan;
  /** Time that the session waits before it speaks, once it is ready. */
  readonly phaseMs: number;
  /** It starts at a multiple of this time, so that one wake-up of the process sends several messages. */
  readonly gridMs: number;
  readonly pacer: Pacer;
  readonly signal: AbortSignal;
}

/** Runs one session: connects now, speaks its plan in real time, closes, and waits for the last message. */
export function runSession(parts: SessionParts): Promise<SessionRun> {
  return new Promise((settle) => new LiveSession(parts, settle).open());
}

class LiveSession {
  readonly #parts: SessionParts;
  readonly #settle: (run: SessionRun) => void;
  readonly #events: TimedEvent[] = [];
  readonly #dueAtMs = performance.now();
  /** Socket that takes finished frames, so that no session needs its own copy. */
  #tcp: Socket | null = null;
  #socket: WebSocket | null = null;
  #readyAtMs: number | null = null;
  #startedAtMs = this.#dueAtMs;
  #sent = 0;
  #isFinished = false;
  #failure: string | null = null;
  #credits: number | null = null;
  #deadline: NodeJS.Timeout | null = null;

  constructor(parts: SessionParts, settle: (run: SessionRun) => void) {
    this.#parts = parts;
    this.#settle = settle;
  }

  open(): void {
    const { url, key, wire, options } = this.#parts;
    const socket = new WebSocket(url.replace(/^http/, "ws") + wire.path(options), {
      headers: { Authorization: wire.authorization(key) },
      perMessageDeflate: false,
      createConnection: (target: unknown) => {
        this.#tcp = connected(url.startsWith("https:"), target as ConnectionOptions);
        return this.#tcp;
      },
    });
    this.#socket = socket;
    this.#deadline = setTimeout(() => this.#fail("no ready session within 60 s"), CONNECT_MS);
    socket.once("open", () => {
      const opening = wire.opening(options);
      if (opening !== null) this.#tcp?.write(clientFrame(opening));
      if (!wire.hasReady) this.#begin();
    });
    socket.on("message", (data, isBinary) => {
      if (!isBinary) this.#receive(String(data));
    });
    socket.on("unexpected-response", (_, response) => {
      const parts: Buffer[] = [];
      response.on("data", (bytes: Buffer) => {
        // A refusal is short: whatever sends more, or never ends, must not hold the session.
        if (parts.push(bytes) >= MOST_REFUSAL_PARTS) response.destroy();
      });
      response.once("close", () => this.#fail(refusalReason(response.statusCode ?? 0, Buffer.concat(parts))));
    });
    socket.on("error", (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message));
    socket.once("close", (code) => this.#closed(code));
  }

  #receive(text: string): void {
    const atMs = performance.now();
    let event: LiveEvent | null = null;
    try {
      event = this.#parts.wire.read(JSON.parse(text));
    } catch {
      this.#fail("the service sent a message that is not JSON");
    }
    if (event === null) return;
    if (event.type === "ready") this.#begin();
    if (event.type === "failed") this.#failure ??= event.reason;
    if (event.type === "done") this.#credits = event.credits;
    this.#events.push({ event, atMs });
  }

  #begin(): void {
    if (this.#readyAtMs !== null) return;
    if (this.#deadline !== null) clearTimeout(this.#deadline);
    this.#readyAtMs = performance.now();
    const { plan, phaseMs, gridMs, pacer } = this.#parts;
    this.#startedAtMs = Math.ceil((this.#readyAtMs + phaseMs) / gridMs) * gridMs;
    pacer.add({
      // A message is due when its last sample has been spoken.
      firstAtMs: this.#startedAtMs + MESSAGE_MS,
      periodMs: MESSAGE_MS,
      count: plan.frames.length,
      send: (index) => this.#send(index),
      ended: () => this.#finish(),
    });
  }

  #send(index: number): boolean {
    const tcp = this.#tcp;
    if (tcp === null || this.#socket?.readyState !== WebSocket.OPEN || this.#parts.signal.aborted)
      return false;
    if (tcp.writableLength > MOST_UNREAD_BYTES) {
      this.#fail("the service stopped reading");
      return false;
    }
    tcp.write(this.#parts.plan.frames[index]!);
    this.#sent++;
    return true;
  }

  #finish(): void {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    this.#isFinished = true;
    const { closing } = this.#parts.wire;
    this.#deadline = setTimeout(() => this.#fail("no last message within 30 s"), LAST_ANSWER_MS);
    if (closing === null) socket.close();
    else this.#tcp?.write(clientFrame(closing));
  }

  #fail(reason: string): void {
    this.#failure ??= reason;
    this.#socket?.terminate();
  }

  #closed(code: number): void {
    if (this.#deadline !== null) clearTimeout(this.#deadline);
    if (!this.#isFinished && !this.#parts.signal.aborted) this.#failure ??= `closed early with ${code}`;
    const readyMs = this.#readyAtMs === null ? null : this.#readyAtMs - this.#dueAtMs;
    this.#settle({
      events: this.#events,
      readyMs,
      startedAtMs: this.#startedAtMs,
      sentSeconds: (this.#sent * MESSAGE_MS) / 1_000,
      failure: this.#failure,
      credits: this.#credits,
    });
  }
}

/** Connects as `ws` does; its documentation names the options. */
function connected(isSecure: boolean, { host = "", port = 0 }: ConnectionOptions): Socket {
  // An IP address cannot be a server name.
  const socket = isSecure
    ? connectTls({ host, port, servername: isIP(host) === 0 ? host : "" })
    : connect({ host, port });
  return socket.setNoDelay(true);
}
