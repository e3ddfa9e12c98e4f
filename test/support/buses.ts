import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import type { Bus } from "../../core/ports/bus.js";
import { connectNats } from "../../src/bus/nats-bus.js";
import { InProcessHub } from "./in-process-bus.js";

/** Connections to one bus, which can be lost and restored together. */
export interface Buses {
  connect(): Promise<Bus>;
  /** Drops every connection and the messages in flight. */
  interrupt(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/** Every kind of bus, for tests that run on each. */
export const BUSES: readonly {
  readonly name: string;
  readonly skip: string | false;
  open(): Promise<Buses>;
}[] = [
  { name: "the bus of the process", skip: false, open: async () => openHub() },
  { name: "NATS", skip: WITHOUT_NATS, open: () => openNats() },
];

/** @throws the errors of subscribers while they handle a message */
export function openHub(): Buses {
  const hub = new InProcessHub((error) => {
    throw error;
  });
  return {
    connect: async () => hub.connect(),
    interrupt: async () => hub.interrupt(),
    resume: async () => hub.resume(),
    stop: async () => undefined,
  };
}

async function openNats(): Promise<Buses> {
  const server = await NatsServer.start();
  const nothing = () => undefined;
  return {
    connect: () =>
      connectNats({
        servers: [server.url],
        name: "test",
        tls: null,
        observer: {
          ...{ disconnected: nothing, reconnected: nothing, damaged: nothing },
          fault: (error) => {
            throw error;
          },
        },
      }),
    interrupt: () => server.kill(),
    resume: () => server.start(),
    stop: () => server.kill(),
  };
}
