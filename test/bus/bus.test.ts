import assert from "node:assert/strict";
import { connect as connectSocket } from "node:net";
import { test } from "node:test";
import { connect } from "@nats-io/transport-node";
import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import { connectNats } from "../../src/bus/nats-bus.js";
import { eventually } from "../support/eventually.js";
import { InProcessHub } from "../support/in-process-bus.js";
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
          damaged: () => void faults.push("damaged"),
        },
      }),
    interrupt: () => server.kill(),
    resume: () => server.start(),
    stop: () => server.kill(),
  };
});

test("damaged messages of any kind are dropped and counted", {
  skip: WITHOUT_NATS,
}, async (t) => {
  const server = await NatsServer.start();
  t.after(() => server.kill());
  const stranger = await connect({ servers: [server.url] });
  t.after(() => stranger.close());
  let damaged = 0;
  const faults: unknown[] = [];
  const nothing = () => undefined;
  const bus = await connectNats({
    ...{ servers: [server.url], name: "test", tls: null },
    observer: {
      ...{ disconnected: nothing, reconnected: nothing },
      fault: (error) => void faults.push(error),
      damaged: () => void damaged++,
    },
  });
  t.after(() => bus.drain());
  const heard: number[][] = [];
  bus.subscribe("t.damaged", ({ bytes }) => void heard.push([...bytes]));
  const whole: Uint8Array[] = [];
  stranger.subscribe("t.damaged", { callback: (_, { data }) => void whole.push(new Uint8Array(data)) });
  await Promise.all([bus.flush(), stranger.flush()]);
  bus.publish("t.damaged", Uint8Array.of(1, 2, 3));
  bus.publish("t.damaged", new Uint8Array());
  await eventually("both are heard", () => heard.length === 2 && whole.length === 2);
  const [message] = whole as [Uint8Array];
  const copies = [
    ...Array.from({ length: message.length }, (_, length) => message.slice(0, length)),
    ...Array.from({ length: 8 * message.length }, (_, bit) =>
      message.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte)),
    ),
    ...[1, 4, 1_000_000].map((length) => new Uint8Array(length)),
    Uint8Array.from([...message, 0]),
  ];
  for (const copy of copies) stranger.publish("t.damaged", copy);
  // Malformed headers, which no NATS client sends.
  const socket = connectSocket(server.port, "127.0.0.1", () => {
    socket.end(
      'CONNECT {"headers":true,"verbose":false}\r\nHPUB t.damaged 12 12\r\nNATS/ \u0000: x\r\n\r\nPING\r\n',
    );
  });
  t.after(() => socket.destroy());
  await eventually("all are counted", () => damaged === copies.length + 1);
  stranger.publish("t.damaged", message);
  await eventually("a whole one is heard", () => heard.length > 2);
  assert.deepEqual(heard, [[1, 2, 3], [], [1, 2, 3]]);
  assert.deepEqual([damaged, faults], [copies.length + 1, []]);
});
