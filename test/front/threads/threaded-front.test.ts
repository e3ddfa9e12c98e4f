import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { WebSocket } from "ws";
import { createLog } from "../../../core/observe/log.js";
import {
  DEFAULT_FRONT_LIMITS,
  type FrontHandlers,
  type FrontRequest,
  type FrontSocket,
  type SocketEvents,
} from "../../../core/ports/front.js";
import { ThreadedFront } from "../../../src/front/threads/threaded-front.js";
import { loadUwsBinding } from "../../../src/front/uws/load-binding.js";
import { eventually } from "../../support/eventually.js";
import { FAULTY_ENTRIES } from "../../support/faulty/entries.js";
import { FaultOrders } from "../../support/faulty/orders.js";
import { pace } from "../../support/pace.js";

const skip = typeof loadUwsBinding() === "string" && "the native front does not load here";
/** Enough connections that the kernel gives each of the two threads some of them. */
const SOCKETS = 24;

interface Owned {
  readonly received: number[];
  closeCode: number | null;
  socket: FrontSocket;
}

async function withFront(
  handlers: Partial<FrontHandlers>,
  use: (
    front: ThreadedFront,
    port: number,
    owned: readonly Owned[],
    lines: readonly string[],
  ) => Promise<void>,
): Promise<void> {
  const owned: Owned[] = [];
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line: string) => void lines.push(line) },
  });
  const open = (socket: FrontSocket): SocketEvents => {
    const entry: Owned = { received: [], closeCode: null, socket };
    owned.push(entry);
    return {
      text: (text) => socket.sendText(text),
      binary: (bytes) => void entry.received.push(bytes[0] ?? -1),
      closed: (code) => {
        assert.equal(entry.closeCode, null, "closed comes once");
        entry.closeCode = code;
      },
    };
  };
  const front = new ThreadedFront({
    threadCount: 2,
    handlers: {
      request: async (_request, response) => {
        response.start(200, {});
        await response.end(Buffer.from("answered"));
      },
      upgrade: async () => ({ type: "accept", protocol: null, headers: {}, open }),
      failed: (error) => lines.push(String(error)),
      ...handlers,
    },
    limits: DEFAULT_FRONT_LIMITS,
    log,
    entry: FAULTY_ENTRIES.front,
  });
  const port = await front.listen("127.0.0.1", 0);
  try {
    await use(front, port, owned, lines);
  } finally {
    await front.close(50);
  }
}

async function connect(port: number, count: number): Promise<WebSocket[]> {
  const sockets = Array.from({ length: count }, () => new WebSocket(`ws://127.0.0.1:${port}/`));
  await Promise.all(sockets.map((socket) => once(socket, "open")));
  return sockets;
}

test("messages of many sockets over two threads arrive complete and in order", { skip }, async () => {
  await withFront({}, async (_front, port, owned) => {
    const sockets = await connect(port, SOCKETS);
    for (let nth = 0; nth < 200; nth++)
      for (const socket of sockets) socket.send(new Uint8Array(3_200).fill(nth));
    await eventually("all messages arrive", () => owned.every(({ received }) => received.length === 200));
    const expected = Array.from({ length: 200 }, (_, nth) => nth);
    for (const { received } of owned) assert.deepEqual(received, expected);
    for (const socket of sockets) socket.terminate();
    await eventually("all owners hear of the end", () => owned.every(({ closeCode }) => closeCode === 1006));
  });
});

test("a busy main thread slows clients down without losing data", { skip }, async () => {
  await withFront({}, async (_front, port, owned) => {
    const [socket] = await connect(port, 1);
    assert.ok(socket);
    // Send twice the capacity of the inbox while nothing drains it.
    for (let nth = 0; nth < 64; nth++) socket.send(new Uint8Array(256 * 1024).fill(nth));
    await pace(20);
    const busyUntilMs = performance.now() + 400;
    while (performance.now() < busyUntilMs);
    await eventually("all messages arrive", () => owned[0]?.received.length === 64);
    assert.deepEqual(
      owned[0]?.received,
      Array.from({ length: 64 }, (_, nth) => nth),
    );
    socket.terminate();
  });
});

test("a crashed front thread disconnects only its own clients and restarts", { skip }, async () => {
  let askedCount = 0;
  let abortedCount = 0;
  const request = async (asked: FrontRequest) => {
    askedCount++;
    await once(asked.signal, "abort");
    assert.equal((asked.signal.reason as { code?: unknown }).code, "WORKER_LOST");
    abortedCount++;
    throw new Error("the client is gone");
  };
  const orders = new FaultOrders();
  await withFront({ request: async (asked) => request(asked) }, async (_front, port, owned, lines) => {
    const sockets = await connect(port, SOCKETS);
    const closeCodes = sockets.map(() => 0);
    for (const [index, socket] of sockets.entries()) {
      socket.on("error", () => {});
      socket.on("close", (code) => {
        closeCodes[index] = code;
      });
    }
    const waiting = Array.from({ length: SOCKETS }, () =>
      fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } }).then(
        () => "answered",
        () => "cut",
      ),
    );
    await eventually("all requests are there", () => askedCount === SOCKETS);
    orders.failOldest("front");
    await eventually(
      "the thread is up again",
      () => lines.filter((line) => line.includes("thread up")).length === 3,
    );
    assert.ok(
      lines.some((line) => line.includes("front thread ended") && line.includes("a test ordered this fault")),
    );
    const lostCount = owned.filter(({ closeCode }) => closeCode === 1006).length;
    assert.ok(lostCount > 0 && lostCount < SOCKETS, `${lostCount} of ${SOCKETS} sockets were on the thread`);
    await eventually(
      "their clients know",
      () => closeCodes.filter((code) => code === 1006).length === lostCount,
    );
    // The other sockets continue, and both threads accept new ones.
    for (const [index, socket] of sockets.entries()) {
      if (closeCodes[index] !== 0) continue;
      socket.send("still here");
      assert.equal(String(((await once(socket, "message")) as [Buffer])[0]), "still here");
    }
    const more = await connect(port, SOCKETS);
    orders.failOldest("front");
    await eventually(
      "the other one, too",
      () => lines.filter((line) => line.includes("thread up")).length === 4,
    );
    await eventually("every request has ended", () => abortedCount === SOCKETS);
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(["cut"]));
    for (const socket of [...sockets, ...more]) socket.terminate();
    await eventually("every owner heard of its end", () =>
      owned.every(({ closeCode }) => closeCode !== null),
    );
  });
});

test("threads that keep crashing are not restarted; the owner is notified when none is left", {
  skip,
}, async () => {
  const orders = new FaultOrders();
  await withFront({}, async (front, _port, _owned, lines) => {
    let isLost = false;
    void front.lost.then(() => {
      isLost = true;
    });
    await eventually("both are given up", () => {
      if (!isLost) orders.failOldest("front");
      return isLost;
    });
    assert.equal(lines.filter((line) => line.includes("front thread given up")).length, 2);
  });
});
