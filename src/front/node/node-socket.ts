import type { RawData, WebSocket } from "ws";
import { CLOSE } from "../../../core/domain/close-codes.js";
import type {
  FloodClosing,
  FrontHandlers,
  FrontLimits,
  FrontSocket,
  SocketEvents,
} from "../../../core/ports/front.js";
import { MessageBudget, type Verdict } from "../shared/live-messages.js";
import type { FloodWatch } from "../shared/rate-limits.js";
import { callSafely, closeFlooded } from "../shared/serve-safely.js";

/** A client that has not answered a ping when the next one is due is cut. */
const PING_MS = 30_000;
/** Time for a flooding client to read the closing message. */
const FLOOD_LINGER_MS = 1_000;

export interface NodeSocketParts {
  readonly ws: WebSocket;
  readonly handlers: FrontHandlers;
  readonly limits: FrontLimits;
  readonly watch: FloodWatch;
  readonly turn: SocketTurn;
  readonly remoteAddress: string;
  readonly floodClosing: FloodClosing | undefined;
  readonly hasAudioInText: boolean | undefined;
  readonly onEnded: () => void;
}

export class NodeFrontSocket implements FrontSocket {
  readonly #parts: NodeSocketParts;
  readonly #ws: WebSocket;
  readonly #handlers: FrontHandlers;
  readonly #budget: MessageBudget;
  #events: SocketEvents | null = null;
  #isClosing = false;
  #isAlive = true;
  #closingTimer: NodeJS.Timeout | null = null;

  constructor(parts: NodeSocketParts) {
    this.#parts = parts;
    this.#ws = parts.ws;
    this.#handlers = parts.handlers;
    const { watch, remoteAddress, hasAudioInText } = parts;
    this.#budget = new MessageBudget(undefined, watch.burstShare(remoteAddress), hasAudioInText);
  }

  open(open: (socket: FrontSocket) => SocketEvents): void {
    const pings = setInterval(() => this.#ping(), PING_MS).unref();
    this.#ws.on("pong", () => {
      this.#parts.turn.count();
      this.#isAlive = true;
      this.#takes(this.#budget.control());
    });
    this.#ws.on("ping", (data) => {
      this.#parts.turn.count();
      if (this.#takes(this.#budget.control()) && this.#canSend()) this.#ws.pong(data);
    });
    this.#ws.on("message", (data, isBinary) => this.#message(data, isBinary));
    this.#ws.on("error", () => {
      // `ws` itself closes with the right code (1007, 1009, ...); `close` follows.
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
    this.#closingTimer = setTimeout(() => this.terminate(), this.#parts.limits.closingMs);
    this.#ws.close(code, reason);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  #canSend(): boolean {
    return !this.#isClosing && this.#ws.readyState === this.#ws.OPEN;
  }

  #message(data: RawData, isBinary: boolean): void {
    this.#parts.turn.count();
    // With the default `binaryType`, messages are buffers.
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

  /** Returns whether to deliver a message. Stops reading from a client that floods. */
  #takes(verdict: Verdict): boolean {
    if (verdict === "take") return true;
    if (verdict !== "flood") return false;
    const { watch, remoteAddress, floodClosing } = this.#parts;
    watch.flooded(remoteAddress);
    const events = this.#events;
    callSafely(this.#handlers, () => events?.flooded?.());
    closeFlooded(this, floodClosing);
    this.#ws.pause();
    // A paused socket does not notice that the client closes.
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
    callSafely(this.#handlers, () => events?.closed(code, reason));
    this.#parts.onEnded();
  }
}

/** Most messages of one socket that are delivered in one turn of the event loop. */
const MESSAGES_PER_TURN = 8;

/**
 * A private field of `ws`: whether it may emit several messages in a row, or waits for a turn before each.
 * The option `allowSynchronousEvents` sets only its initial value, and no public call changes it. Without the
 * field, all messages of a read are delivered immediately, and the floods in `npm test -- attack` take too
 * long.
 */
interface Receiver {
  _allowSynchronousEvents?: boolean;
}

export interface SocketTurn {
  count(): void;
}

/**
 * Limits the messages of a socket in one turn of the event loop. A read of 64 KiB contains up to 10,000
 * messages, which would keep all other clients waiting. After the first few, `ws` waits for a turn before
 * each. Audio at the speed of speech is never delayed.
 */
export class MessageTurns {
  readonly #delayed: Receiver[] = [];
  #turn = 0;
  #isCounting = false;

  of(ws: WebSocket): SocketTurn {
    const receiver = (ws as unknown as { readonly _receiver?: Receiver })._receiver ?? {};
    let turn = -1;
    let messages = 0;
    return {
      count: () => {
        this.#startTurn();
        if (turn !== this.#turn) {
          turn = this.#turn;
          messages = 0;
        }
        if (++messages !== MESSAGES_PER_TURN) return;
        receiver._allowSynchronousEvents = false;
        this.#delayed.push(receiver);
      },
    };
  }

  #startTurn(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    setImmediate(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#isCounting = false;
    this.#turn++;
    for (const receiver of this.#delayed) receiver._allowSynchronousEvents = true;
    this.#delayed.length = 0;
  }
}
