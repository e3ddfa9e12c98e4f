import type { RawData, WebSocket } from "ws";
import { CLOSE } from "../../../core/domain/close-codes.js";
import type {
  ClosingMessage,
  FrontHandlers,
  FrontLimits,
  FrontSocket,
  SocketEvents,
} from "../../../core/ports/front.js";
import type { FloodWatch } from "../shared/flood-watch.js";
import { MessageBudget, type Verdict } from "../shared/message-budget.js";
import { sayFarewell } from "../shared/say-farewell.js";
import { callSafely } from "../shared/serve-safely.js";
import type { SocketTurn } from "./message-turns.js";

/** A client that does not answer a ping until the next one is gone. */
const PING_MS = 30_000;
/** How long a client that floods may take to read why it is closed. */
const FLOOD_LINGER_MS = 1_000;

export interface NodeSocketParts {
  readonly ws: WebSocket;
  readonly handlers: FrontHandlers;
  readonly limits: FrontLimits;
  readonly watch: FloodWatch;
  readonly turn: SocketTurn;
  readonly remoteAddress: string;
  readonly floodClosingMessage: ClosingMessage | undefined;
  /** The socket is over. */
  readonly onEnded: () => void;
}

/** An open WebSocket over `ws`. */
export class NodeFrontSocket implements FrontSocket {
  readonly #ws: WebSocket;
  readonly #handlers: FrontHandlers;
  readonly #limits: FrontLimits;
  readonly #onEnded: () => void;
  readonly #budget: MessageBudget;
  readonly #turn: SocketTurn;
  readonly #onFlood: () => void;
  readonly #floodClosingMessage: ClosingMessage | undefined;
  #events: SocketEvents | null = null;
  #isClosing = false;
  #isAlive = true;
  #closingTimer: NodeJS.Timeout | null = null;

  constructor(parts: NodeSocketParts) {
    const { ws, handlers, limits, watch, turn, remoteAddress, floodClosingMessage, onEnded } = parts;
    this.#ws = ws;
    this.#handlers = handlers;
    this.#limits = limits;
    this.#budget = new MessageBudget(undefined, watch.burstShare(remoteAddress));
    this.#turn = turn;
    this.#onFlood = () => watch.flooded(remoteAddress);
    this.#floodClosingMessage = floodClosingMessage;
    this.#onEnded = onEnded;
  }

  open(open: (socket: FrontSocket) => SocketEvents): void {
    const pings = setInterval(() => this.#ping(), PING_MS).unref();
    this.#ws.on("pong", () => {
      this.#turn.count();
      this.#isAlive = true;
      this.#takes(this.#budget.control());
    });
    this.#ws.on("ping", (data) => {
      this.#turn.count();
      if (this.#takes(this.#budget.control()) && this.#canSend()) this.#ws.pong(data);
    });
    this.#ws.on("message", (data, isBinary) => this.#message(data, isBinary));
    this.#ws.on("error", () => {
      // `ws` closes with the fitting code (1007, 1009, ...) by itself; `close` follows.
    });
    this.#ws.on("close", (code, reason) => {
      clearInterval(pings);
      this.#ended(code, reason.toString());
    });
    callSafely(
      this.#handlers,
      () => {
        this.#events = open(this);
      },
      () => this.terminate(),
    );
  }

  get bufferedBytes(): number {
    return this.#ws.bufferedAmount;
  }

  sendText(text: string): void {
    if (this.#canSend()) this.#ws.send(text, { binary: false });
  }

  sendBinary(bytes: Uint8Array): void {
    if (this.#canSend()) this.#ws.send(bytes, { binary: true });
  }

  close(code: number, reason: string): void {
    if (!this.#canSend()) return;
    this.#isClosing = true;
    this.#closingTimer = setTimeout(() => this.terminate(), this.#limits.closingMs);
    this.#ws.close(code, reason);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  #canSend(): boolean {
    return !this.#isClosing && this.#ws.readyState === this.#ws.OPEN;
  }

  #message(data: RawData, isBinary: boolean): void {
    this.#turn.count();
    // Messages are buffers unless asked for otherwise.
    const bytes = data as Buffer;
    if (!this.#takes(isBinary ? this.#budget.binary(bytes.length) : this.#budget.text(bytes.length))) return;
    const events = this.#events;
    if (events === null || this.#isClosing) return;
    callSafely(
      this.#handlers,
      () => (isBinary ? events.binary(bytes) : events.text(bytes.toString())),
      () => this.close(CLOSE.internal, "internal error"),
    );
  }

  /** Whether a message is handed on. The socket of a client that floods is not read any more. */
  #takes(verdict: Verdict): boolean {
    if (verdict === "take") return true;
    if (verdict !== "flood") return false;
    this.#onFlood();
    const events = this.#events;
    callSafely(
      this.#handlers,
      () => events?.flooded?.(),
      () => {},
    );
    sayFarewell(this, this.#floodClosingMessage);
    this.#ws.pause();
    // Its goodbye will not be heard.
    setTimeout(() => this.terminate(), FLOOD_LINGER_MS).unref();
    return false;
  }

  #ping(): void {
    if (!this.#isAlive) {
      this.terminate();
      return;
    }
    this.#isAlive = false;
    this.#ws.ping();
  }

  #ended(code: number, reason: string): void {
    if (this.#closingTimer !== null) clearTimeout(this.#closingTimer);
    const events = this.#events;
    this.#events = null;
    // `ws` says 1005 for a goodbye without a code.
    callSafely(
      this.#handlers,
      () => events?.closed(code, reason),
      () => {},
    );
    this.#onEnded();
  }
}
