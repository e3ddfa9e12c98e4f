import type { Bus, BusMessage } from "../../core/ports/bus.js";

interface Subscription {
  readonly pattern: string;
  readonly onMessage: (message: BusMessage) => void;
}

/** A bus within one process, for tests: behaves like one between processes, without a network. */
export class InProcessHub {
  readonly #connections = new Set<InProcessBus>();
  readonly #onFault: (error: unknown) => void;
  #queue: (() => void)[] = [];
  #isDown = false;

  /** @param onFault receives errors of subscribers */
  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  connect(): InProcessBus {
    const connection = new InProcessBus(this);
    this.#connections.add(connection);
    return connection;
  }

  /** Drops every connection and all messages in flight, as a crash of the server would. */
  interrupt(): void {
    this.#isDown = true;
    this.#queue = [];
  }

  /** Restores every connection. */
  resume(): void {
    this.#isDown = false;
    for (const connection of this.#connections) this.enqueue(() => connection.reconnected());
  }

  /** Delivers a message to all subscribers, in a later turn of the event loop. */
  send(subject: string, bytes: Uint8Array, replyTo: string | undefined): void {
    if (this.#isDown) return;
    // Put it inside a larger buffer, as NATS does, so that tests find code that ignores a view's offset.
    const borrowed = new Uint8Array(bytes.length + 1).subarray(1);
    borrowed.set(bytes);
    this.enqueue(() => {
      const isHeard = this.#deliver({ subject, bytes: borrowed, isUndelivered: false });
      if (isHeard || replyTo === undefined) return;
      this.enqueue(() => this.#deliver({ subject: replyTo, bytes: new Uint8Array(), isUndelivered: true }));
    });
  }

  /** Runs `act` after everything sent so far has been delivered. */
  enqueue(act: () => void): void {
    if (this.#queue.length === 0) setImmediate(() => this.#run());
    this.#queue.push(act);
  }

  disconnect(connection: InProcessBus): void {
    this.#connections.delete(connection);
  }

  #run(): void {
    for (const act of this.#queue.splice(0)) act();
  }

  /** Delivers a message; returns whether it had a subscriber. */
  #deliver(message: BusMessage): boolean {
    const wanted = [...this.#connections].flatMap((connection) =>
      connection.subscriptionsTo(message.subject),
    );
    for (const { onMessage } of wanted) {
      try {
        onMessage(message);
      } catch (error) {
        this.#onFault(error);
      }
    }
    return wanted.length > 0;
  }
}

/** One connection to the hub of the process. */
export class InProcessBus implements Bus {
  readonly #hub: InProcessHub;
  readonly #subscriptions = new Set<Subscription>();
  readonly #onReconnect = new Set<() => void>();
  #isDrained = false;

  constructor(hub: InProcessHub) {
    this.#hub = hub;
  }

  publish(subject: string, bytes: Uint8Array, replyTo?: string): void {
    if (!this.#isDrained) this.#hub.send(subject, bytes, replyTo);
  }

  subscribe(pattern: string, onMessage: (message: BusMessage) => void): () => void {
    const subscription = { pattern, onMessage };
    this.#subscriptions.add(subscription);
    return () => void this.#subscriptions.delete(subscription);
  }

  onReconnect(act: () => void): () => void {
    this.#onReconnect.add(act);
    return () => void this.#onReconnect.delete(act);
  }

  flush(): Promise<void> {
    return new Promise((resolve) => this.#hub.enqueue(resolve));
  }

  async drain(): Promise<void> {
    this.#isDrained = true;
    this.#subscriptions.clear();
    this.#onReconnect.clear();
    this.#hub.disconnect(this);
  }

  subscriptionsTo(subject: string): readonly Subscription[] {
    return [...this.#subscriptions].filter(({ pattern }) => matches(pattern, subject));
  }

  reconnected(): void {
    for (const act of [...this.#onReconnect]) act();
  }
}

/** Whether a subject matches a pattern: `*` is any token, a final `>` one token or more. */
function matches(pattern: string, subject: string): boolean {
  const wanted = pattern.split(".");
  const tokens = subject.split(".");
  for (const [index, want] of wanted.entries()) {
    if (want === ">") return tokens.length > index;
    if (index >= tokens.length || (want !== "*" && want !== tokens[index])) return false;
  }
  return tokens.length === wanted.length;
}
