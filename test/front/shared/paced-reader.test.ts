// A client that reads a response byte by byte once kept it in memory for hours.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { createLog } from "../../../core/observe/log.js";
import {
  DEFAULT_FRONT_LIMITS,
  type Front,
  type FrontHandlers,
  type FrontLimits,
} from "../../../core/ports/front.js";
import { NodeFront } from "../../../src/front/node/node-front.js";
import { PacedReader } from "../../../src/front/shared/rate-limits.js";
import { ThreadedFront } from "../../../src/front/threads/threaded-front.js";
import { loadUwsBinding } from "../../../src/front/uws/load-binding.js";
import { UwsFront } from "../../../src/front/uws/uws-front.js";
import { eventually } from "../../support/eventually.js";
import { pace } from "../../support/pace.js";

const GRACE_MS = 500;
const LIMITS = { ...DEFAULT_FRONT_LIMITS, readerPace: { leastBytesPerS: 4_000_000, graceMs: GRACE_MS } };
/** More than socket buffers can hold. */
const BYTES = 32_000_000;
/** Longer than the native library's own timeout. */
const PAUSED_MS = 16_000;
const PART = new Uint8Array(400_000);

const binding = loadUwsBinding();
const log = createLog({ level: "silent" });
const fronts: Readonly<Record<string, (handlers: FrontHandlers, limits?: FrontLimits) => Front>> = {
  node: (handlers, limits = LIMITS) => new NodeFront(handlers, limits),
  ...(typeof binding !== "string" && {
    uws: (handlers: FrontHandlers, limits = LIMITS) => new UwsFront(binding, handlers, limits),
    "uws in two threads": (handlers: FrontHandlers, limits = LIMITS) =>
      new ThreadedFront({ threadCount: 2, handlers, limits, log }),
  }),
};

test("only waiting uses up time, and every byte read adds some", () => {
  const reader = new PacedReader({ leastBytesPerS: 1_000, graceMs: 500 });
  assert.equal(reader.leftMs, 500);
  reader.waited(400);
  assert.equal(reader.leftMs, 100);
  reader.took(1_000);
  assert.equal(reader.leftMs, 1_100);
  reader.waited(2_000);
  assert.equal(reader.leftMs, 0);
});

test("never cuts off speech at half its pace, with pauses of ten minutes in total", () => {
  const reader = new PacedReader(DEFAULT_FRONT_LIMITS.readerPace);
  for (let minute = 0; minute < 120; minute++) {
    if (minute % 12 === 0) reader.waited(59_000);
    reader.waited(60_000);
    reader.took(60 * 24_000);
    assert.ok(reader.leftMs > 0, `minute ${minute}`);
  }
});

/** Sends a request, but does not read the response yet. */
function ask(port: number, path: string): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
  return socket;
}

/** Reads up to `bytes` at a time, with a pause in between, until the connection ends. */
async function take(socket: Socket, bytes: number, pauseMs: number): Promise<number> {
  let taken = 0;
  let isOver = false;
  socket.on("end", () => (isOver = true)).on("close", () => (isOver = true));
  while (!isOver) {
    const chunk = (socket.read(Math.min(bytes, socket.readableLength)) ?? socket.read()) as Buffer | null;
    taken += chunk?.length ?? 0;
    await pace(pauseMs);
  }
  return taken;
}

for (const [name, makeFront] of Object.entries(fronts)) {
  test(`front ${name} disconnects a slow reader, but not one that waits for the service`, async () => {
    const ended = new Map<string, string>();
    const front = makeFront({
      request: async (request, response) => {
        const { path } = request;
        try {
          response.start(200, path === "/sized" ? { "content-length": String(BYTES) } : {});
          if (path === "/ours") {
            await response.write(Buffer.from("first"));
            await pace(2 * GRACE_MS);
            return await response.end(Buffer.from("last"));
          }
          for (let sent = 0; sent < BYTES; sent += PART.length) await response.write(PART);
          await response.end();
          ended.set(path, "sent");
        } catch (error) {
          ended.set(path, String(error));
        }
      },
      upgrade: async () => ({ type: "refuse", status: 404, headers: {}, body: "" }),
      failed: () => {},
    });
    const port = await front.listen("127.0.0.1", 0);
    try {
      const base = `http://127.0.0.1:${port}`;
      const ours = fetch(`${base}/ours`).then((answer) => answer.text());
      const slow = ["/sized", "/chunked"].map(async (path) => {
        const taken = await take(ask(port, path), 100_000, 100);
        assert.ok(taken < BYTES, `${path}: ${taken} bytes`);
        await eventually("the writer knows", () => ended.has(path));
        assert.match(ended.get(path)!, /CANCELLED|the client is gone/, path);
      });
      await Promise.all(slow);
      assert.equal(await ours, "firstlast");
      for (const path of ["/sized", "/chunked"]) {
        // On a busy machine this reader may count as slow too.
        await eventually(`a quick reader gets all of ${path}`, async () => {
          const whole = await fetch(base + path)
            .then((answer) => answer.arrayBuffer())
            .catch(() => null);
          return whole?.byteLength === BYTES;
        });
      }
    } finally {
      await front.close(0);
    }
  });
}

test("on every front a reader that pauses longer than the native library's timeout gets the rest", async () => {
  const ways = Object.values(fronts).flatMap((makeFront) =>
    ["/sized", "/chunked"].map(async (path) => {
      const front = makeFront(
        {
          request: async (_request, response) => {
            response.start(200, path === "/sized" ? { "content-length": String(BYTES) } : {});
            for (let sent = 0; sent < BYTES; sent += PART.length) await response.write(PART);
            await response.end();
          },
          upgrade: async () => ({ type: "refuse", status: 404, headers: {}, body: "" }),
          failed: () => {},
        },
        DEFAULT_FRONT_LIMITS,
      );
      const port = await front.listen("127.0.0.1", 0);
      try {
        const socket = connect(port, "127.0.0.1").on("error", () => {});
        const body = JSON.stringify({ text: "as clients of speech ask" });
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
        await once(socket, "readable");
        await pace(PAUSED_MS);
        let taken = 0;
        socket.on("data", (chunk: Buffer) => (taken += chunk.length));
        await eventually("the whole answer", () => taken >= BYTES || socket.closed);
        assert.ok(taken >= BYTES, `${front.kind} ${path}: ${taken} bytes`);
        socket.destroy();
      } finally {
        await front.close(0);
      }
    }),
  );
  await Promise.all(ways);
});
