/** A message for a subscriber. */
export interface BusMessage {
  readonly subject: string;
  /** Borrowed for the call, at any offset of its buffer: copy before using a view of wider elements. */
  readonly bytes: Uint8Array;
  /** A message with this reply subject found no subscriber; `bytes` is empty. */
  readonly isUndelivered: boolean;
}

/**
 * Messages between processes, at most once, in order from one publisher to one subscriber. Messages in flight
 * or published while the connection is down are lost; `onReconnect` reports this possibility. Damaged
 * messages are dropped.
 */
export interface Bus {
  /**
   * @param subject words of letters, digits, `-` and `_`, joined by dots
   * @param bytes at most 1 MB; must not change afterwards
   * @param replyTo a subject that receives an `isUndelivered` message if there is no subscriber
   */
  publish(subject: string, bytes: Uint8Array, replyTo?: string): void;
  /**
   * @param subject as above, with `*` for any word and a final `>` for one or more words
   * @param hear its errors are only logged
   * @returns ends the subscription
   */
  subscribe(subject: string, hear: (message: BusMessage) => void): () => void;
  /** Calls `act` after each reconnection, until the returned function is called. */
  onReconnect(act: () => void): () => void;
  /** Resolves when the bus has all earlier messages and subscriptions. */
  flush(): Promise<void>;
  /** Sends remaining messages and disconnects. May be called twice. Never rejects. */
  drain(): Promise<void>;
}
