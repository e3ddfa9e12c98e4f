import type { WebSocket } from "ws";

/** Messages of one socket that are delivered in one turn of the event loop. */
const MESSAGES_PER_TURN = 8;

/**
 * A private field of `ws`: whether it may emit several messages in a row, or waits a turn before each. The
 * option `allowSynchronousEvents` is only its initial value, and no public call changes it. Without the
 * field, all messages of a read are delivered at once, and the floods of `npm test -- attack` take too long.
 */
interface Receiver {
  _allowSynchronousEvents?: boolean;
}

/** Counts the messages and pings of one socket. */
export interface SocketTurn {
  count(): void;
}

/**
 * Limits the messages of a socket in one turn of the event loop. A read of 64 KiB holds up to 10,000, which
 * would keep all other clients waiting. After the first few, `ws` waits a turn before each. At the pace of
 * speech nothing waits.
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
