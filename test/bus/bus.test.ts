import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import { InProcessHub } from "../../src/bus/in-process-bus.js";
import { connectNats } from "../../src/bus/nats-bus.js";
import { busContract } from "./bus-contract.js";

busContract("of the process", false, async () => {
  const faults: unknown[] = [];
  const hub = new InProcessHub((error) => void faults.push(error));
  return {
    faults,
    connect: async () => hub.connect(),
    interrupt: async () => hub.interrupt(),
    resume: async () => hub.resume(),
    stop: async () => undefined,
  };
});

busContract("of NATS", WITHOUT_NATS, async () => {
  const faults: unknown[] = [];
  const server = await NatsServer.start();
  return {
    faults,
    connect: () =>
      connectNats({
        servers: [server.url],
        name: "test",
        tls: null,
        observer: {
          disconnected: () => undefined,
          reconnected: () => undefined,
          fault: (error) => void faults.push(error),
        },
      }),
    interrupt: () => server.kill(),
    resume: () => server.start(),
    stop: () => server.kill(),
  };
});
