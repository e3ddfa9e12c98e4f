import { connect, type Msg, type NatsConnection } from "@nats-io/transport-node";
import type { Bus, BusMessage } from "../../core/ports/bus.js";
import { verified, withChecksum } from "./checksum.js";

/** TLS files in PEM format; `certFile` and `keyFile` authenticate the client. */
export interface BusTls {
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
}

export interface NatsBusOptions {
  /** Addresses of one cluster, such as `nats://host:4222` or `tls://host:4222`. */
  readonly servers: readonly string[];
  /** Shown in the server's list of connections. */
  readonly name: string;
  readonly tls: BusTls | null;
  /** Connection timeout in milliseconds; 20 s by default. */
  readonly connectWithinMs?: number;
  readonly observer: BusObserver;
}

/** Receives the connection's events, for log and metrics. */
export interface BusObserver {
  disconnected(): void;
  reconnected(): void;
  /** Called when a subscriber threw, or the server reported an error. */
  fault(error: unknown): void;
  /** Called when a damaged message was dropped. */
  damaged(): void;
}

const RECONNECT_WAIT_MS = 50;
const PING_EVERY_MS = 2_000;
/** Number of unanswered pings after which the connection counts as lost. */
const MOST_PINGS_OUT = 2;
const CONNECT_WITHIN_MS = 20_000;
const DRAIN_WITHIN_MS = 1_000;
/** Status of the empty message with which the server reports that there is no subscriber. */
const NO_RESPONDERS = 503;
const NO_BYTES = new Uint8Array();

/** Connects to NATS. @throws if no server accepts the connection */
export async function connectNats(options: NatsBusOptions): Promise<Bus> {
  const { servers, name, tls, connectWithinMs = CONNECT_WITHIN_MS, observer } = options;
  const connection = await connect({
    servers: [...servers],
    name,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    reconnectJitter: RECONNECT_WAIT_MS,
    maxReconnectAttempts: -1,
    pingInterval: PING_EVERY_MS,
    maxPingOut: MOST_PINGS_OUT,
    timeout: connectWithinMs,
    ...(tls !== null && { tls: withoutNulls({ ...tls }) }),
  });
  return new NatsBus(connection, observer);
}

class NatsBus implements Bus {
  readonly #connection: NatsConnection;
  readonly #observer: BusObserver;
  readonly #onReconnect = new Set<() => void>();
  #draining: Promise<void> | null = null;

  constructor(connection: NatsConnection, observer: BusObserver) {
    this.#connection = connection;
    this.#observer = observer;
    void this.#watch();
  }

  publish(subject: string, bytes: Uint8Array, replyTo?: string): void {
    // Actors that are stopping may still publish.
    if (this.#connection.isClosed() || this.#connection.isDraining()) return;
    this.#connection.publish(
      subject,
      withChecksum(bytes),
      replyTo === undefined ? undefined : { reply: replyTo },
    );
  }

  subscribe(subject: string, onMessage: (message: BusMessage) => void): () => void {
    const subscription = this.#connection.subscribe(subject, {
      callback: (error, message) => {
        // An exception in a callback would end the client's reader, and with it the connection.
        try {
          if (error !== null) throw error;
          const isUndelivered = reportsNoResponders(message);
          const bytes = isUndelivered ? NO_BYTES : verified(message.data);
          if (bytes === null) this.#observer.damaged();
          else onMessage({ subject: message.subject, bytes, isUndelivered });
        } catch (thrown) {
          this.#observer.fault(thrown);
        }
      },
    });
    return () => {
      if (!this.#connection.isClosed()) subscription.unsubscribe();
    };
  }

  onReconnect(act: () => void): () => void {
    this.#onReconnect.add(act);
    return () => void this.#onReconnect.delete(act);
  }

  flush(): Promise<void> {
    return this.#connection.flush();
  }

  drain(): Promise<void> {
    this.#draining ??= this.#drain();
    return this.#draining;
  }

  async #drain(): Promise<void> {
    this.#onReconnect.clear();
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, DRAIN_WITHIN_MS);
    });
    // Without a connection, the client would wait for one forever.
    await Promise.race([this.#connection.drain(), deadline]).catch(() => undefined);
    clearTimeout(timer);
    await this.#connection.close().catch(() => undefined);
  }

  async #watch(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === "disconnect") this.#observer.disconnected();
      else if (status.type === "error") this.#observer.fault(status.error);
      else if (status.type === "reconnect") {
        this.#observer.reconnected();
        for (const act of [...this.#onReconnect]) act();
      }
    }
  }
}

function reportsNoResponders(message: Msg): boolean {
  if (message.data.length > 0) return false;
  try {
    return message.headers?.code === NO_RESPONDERS;
  } catch {
    // The server never sends malformed headers.
    return false;
  }
}

function withoutNulls<T extends Record<string, string | null>>(members: T): Record<string, string> {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}
