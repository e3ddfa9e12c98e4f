import type { Bus, BusMessage } from "../../core/ports/bus.js";
import { matches } from "./subjects.js";

interface Subscription {
  readonly pattern: string;
  readonly hear: (message: BusMessage) => void;
}

/** The bus that connections of one process share: everything is as between processes, but for the way. */
export class InProcessHub {
  readonly #connections = new Set<InProcessBus>();
  readonly #onFault: (error: unknown) => void;
  #queue: (() => void)[] = [];
  #isDown = false;

  /** @param onFault told what subscribers throw */
  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  connect(): InProcessBus {
    const connection = new InProcessBus(this);
    this.#connections.add(connection);
    return connection;
  }

  /** Every connection is lost, with what is on its way; as a server that dies. */
  interrupt(): void {
    this.#isDown = true;
    this.#queue = [];
  }

  /** Every connection is there again. */
  resume(): void {
    this.#isDown = false;
    for (const connection of this.#connections) this.soon(() => connection.reconnected());
  }

  /** Hands a message to all who want it, in a later turn. */
  send(subject: string, bytes: Uint8Array, replyTo: string | undefined): void {
    if (this.#isDown) return;
    // Handed out as NATS does, inside of a larger buffer, so that a view which forgets the offset is found here.
    const lent = new Uint8Array(bytes.length + 1).subarray(1);
    lent.set(bytes);
    this.soon(() => {
      const isHeard = this.#deliver({ subject, bytes: lent, isUndelivered: false });
      if (isHeard || replyTo === undefined) return;
      this.soon(() => this.#deliver({ subject: replyTo, bytes: new Uint8Array(), isUndelivered: true }));
    });
  }

  /** Acts after everything that was sent before. */
  soon(act: () => void): void {
    if (this.#queue.length === 0) setImmediate(() => this.#work());
    this.#queue.push(act);
  }

  leave(connection: InProcessBus): void {
    this.#connections.delete(connection);
  }

  #work(): void {
    for (const act of this.#queue.splice(0)) act();
  }

  /** Returns whether there was a subscriber. */
  #deliver(message: BusMessage): boolean {
    const wanted = [...this.#connections].flatMap((connection) =>
      connection.subscriptionsTo(message.subject),
    );
    for (const { hear } of wanted) {
      try {
        hear(message);
      } catch (error) {
        this.#onFault(error);
      }
    }
    return wanted.length > 0;
  }
}

/** One connection to the hub of this process. */
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

  subscribe(pattern: string, hear: (message: BusMessage) => void): () => void {
    const subscription = { pattern, hear };
    this.#subscriptions.add(subscription);
    return () => void this.#subscriptions.delete(subscription);
  }

  onReconnect(act: () => void): () => void {
    this.#onReconnect.add(act);
    return () => void this.#onReconnect.delete(act);
  }

  flush(): Promise<void> {
    return new Promise((resolve) => this.#hub.soon(resolve));
  }

  async drain(): Promise<void> {
    this.#isDrained = true;
    this.#subscriptions.clear();
    this.#onReconnect.clear();
    this.#hub.leave(this);
  }

  subscriptionsTo(subject: string): readonly Subscription[] {
    return [...this.#subscriptions].filter(({ pattern }) => matches(pattern, subject));
  }

  reconnected(): void {
    for (const act of [...this.#onReconnect]) act();
  }
}
