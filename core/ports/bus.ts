/** What a subscriber is handed. */
export interface BusMessage {
  readonly subject: string;
  /** Lent for the length of the call, at any offset of its buffer: copy before a view of wider elements. */
  readonly bytes: Uint8Array;
  /** Nothing was published here: what named this as its reply subject found no subscriber. `bytes` is empty. */
  readonly isUndelivered: boolean;
}

/**
 * Messages between processes: at most once, in order from one publisher to one subscriber, nothing kept. What is published
 * while the connection is down is lost, and so is what is on its way then; `onReconnect` tells when that may have happened.
 * A message that arrives damaged is dropped, as if it were lost.
 */
export interface Bus {
  /**
   * @param subject words of letters, digits, `-` and `_`, joined by dots
   * @param bytes the bus's from here on, at most 1 MB
   * @param replyTo a subject that is told if there is no subscriber
   */
  publish(subject: string, bytes: Uint8Array, replyTo?: string): void;
  /**
   * @param subject as above, where `*` stands for any word and `>`, as the last, for one word or more
   * @param hear what it throws is logged and goes no further
   * @returns ends the subscription
   */
  subscribe(subject: string, hear: (message: BusMessage) => void): () => void;
  /** Called each time the connection is there again after it was lost. Returns how to stop that. */
  onReconnect(act: () => void): () => void;
  /** Settles when what was published before is with the bus, and every subscription made before holds. */
  flush(): Promise<void>;
  /** Sends what is left and hangs up; nothing is heard afterwards. May be called twice. Never rejects. */
  drain(): Promise<void>;
}
