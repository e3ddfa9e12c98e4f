import type { WebSocket } from "ws";

/** Messages of one socket that are handed on in one turn of the event loop. */
const MESSAGES_PER_TURN = 8;

/**
 * What `ws` asks before it emits: whether it may emit several messages in a row, or waits a turn for each. Its option
 * `allowSynchronousEvents` is only the initial value, and nothing public changes it; where the field is not there, all
 * that a read brings comes at once, and the floods of `npm test -- attack` take too long.
 */
interface Receiver {
  _allowSynchronousEvents?: boolean;
}

/** Counts what one socket brings, messages and pings alike. */
export interface SocketTurn {
  count(): void;
}

/**
 * Bounds the messages of a socket in one turn of the event loop. A read of 64 KiB brings up to 10,000, and all others would
 * wait for them: behind the first few `ws` waits a turn before each. At the pace of speech nothing waits.
 */
export class MessageTurns {
  readonly #delayed: Receiver[] = [];
  #turn = 0;
  #isCounting = false;

  /** @param ws is open */
  of(ws: WebSocket): SocketTurn {
    const receiver = (ws as unknown as { readonly _receiver?: Receiver })._receiver ?? {};
    let turn = -1;
    let messages = 0;
    return {
      count: () => {
        this.#beginTurn();
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

  #beginTurn(): void {
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
