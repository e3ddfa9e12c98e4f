import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import type { Departure, FrontResponse } from "../../core/ports/front.js";
import { eventually } from "../support/eventually.js";
import { pace, within } from "../support/pace.js";
import {
  answerText,
  get,
  once,
  open,
  PATIENCE_MS,
  raw,
  type TestedFront,
  textOf,
  upload,
} from "./tested-front.js";

/** Reads one response on a separate thread and counts its bytes in shared memory. */
const READER = `
  const { parentPort, workerData: { port, received } } = require("node:worker_threads");
  require("node:http").get({ host: "127.0.0.1", port, agent: false }, (answer) => {
    answer.on("data", (chunk) => {
      Atomics.add(received, 0, chunk.length);
      Atomics.notify(received, 0);
    });
    answer.on("end", () => parentPort.postMessage(received[0]));
  });
`;

/** Requests, their bodies and their answers. */
export function requestCases(at: TestedFront): void {
  test("method, path, query, headers and remote address reach the handler decoded", async () => {
    let seen: unknown;
    at.handle = async (request, response) => {
      seen = {
        method: request.method,
        path: request.path,
        query: [...request.query],
        custom: request.header("X-Custom"),
        missing: request.header("x-missing") ?? null,
        remote: request.remoteAddress.includes("127.0.0.1"),
        malformed: request.malformed,
      };
      await answerText("ok")(request, response);
    };
    const answer = await fetch(`${at.base}/a%20b/%D1%81?x=1%2B1&y=a+b&x=2`, {
      headers: { "x-custom": "v" },
    });
    assert.equal(await answer.text(), "ok");
    assert.deepEqual(seen, {
      method: "GET",
      path: "/a b/с",
      query: [
        ["x", "1+1"],
        ["y", "a b"],
        ["x", "2"],
      ],
      custom: "v",
      missing: null,
      remote: true,
      malformed: null,
    });
  });

  test("a path that does not decode is marked as malformed", async () => {
    at.handle = async (request, response) => {
      response.start(request.malformed === null ? 200 : 400, {});
      await response.end();
    };
    const asked = raw(at.port, "GET /%ff HTTP/1.1\r\nHost: x\r\n\r\n");
    const text = await within(PATIENCE_MS, "its connection is closed by the front", asked);
    assert.match(text, /^HTTP\/1.1 400 /);
  });

  test("status, headers and length of an answer arrive", async () => {
    at.handle = async (_request, response) => {
      assert.equal(response.hasStarted, false);
      response.start(418, { "x-one": "1", "content-type": "text/plain" });
      assert.equal(response.hasStarted, true);
      await response.end(Buffer.from("short"));
      assert.equal(response.isOver, true);
    };
    const answer = await fetch(at.base);
    assert.equal(answer.status, 418);
    assert.equal(answer.headers.get("x-one"), "1");
    assert.equal(answer.headers.get("content-length"), "5");
    assert.equal(await answer.text(), "short");
  });

  test("HEAD is answered with headers and without a body, and the connection stays usable", async () => {
    at.handle = async (_request, response) => {
      response.start(200, { "content-type": "text/plain", "content-length": "10" });
      await response.write(Buffer.from("01234"));
      await response.end(Buffer.from("56789"));
    };
    const text = await raw(
      at.port,
      "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    assert.equal(text.match(/HTTP\/1.1 200/g)?.length, 2);
    assert.equal(text.match(/content-length: 10/gi)?.length, 2);
    assert.equal(text.match(/0123456789/g)?.length, 1);
  });

  test("204 has no body", async () => {
    at.handle = async (_request, response) => {
      response.start(204, {});
      await response.end();
    };
    const answer = await fetch(at.base, { method: "OPTIONS" });
    assert.equal(answer.status, 204);
    assert.equal(await answer.text(), "");
  });

  for (const isChunked of [false, true]) {
    test(`an upload of several MB to a slow reader arrives whole, ${isChunked ? "chunked" : "with a length"}`, async () => {
      const bytes = randomBytes(6_000_000);
      let received = "";
      let length: number | null = -1;
      at.handle = async (request, response) => {
        length = request.contentLength;
        const hash = createHash("sha256");
        let chunks = 0;
        for await (const chunk of request.body) {
          hash.update(chunk);
          if (++chunks % 16 === 0) await pace(2);
        }
        received = hash.digest("hex");
        await answerText("got it")(request, response);
      };
      const answer = await upload(
        at.port,
        bytes,
        isChunked ? {} : { "content-length": String(bytes.length) },
      );
      assert.equal(answer.status, 200);
      assert.equal(received, createHash("sha256").update(bytes).digest("hex"));
      assert.equal(length, isChunked ? null : bytes.length);
    });
  }

  test("a reader that stops reading stops the sender", async () => {
    let release = () => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    let total = 0;
    at.handle = async (request, response) => {
      await isReleased;
      for await (const chunk of request.body) total += chunk.length;
      await answerText("done")(request, response);
    };
    const size = 24_000_000;
    const socket = await open(at.port);
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${size}\r\nConnection: close\r\n\r\n`);
    const block = Buffer.alloc(1_000_000, 7);
    for (let sent = 0; sent < size; sent += block.length) socket.write(block);
    await pace(200);
    assert.ok(socket.writableLength > size / 3, `the sender waits, holding ${socket.writableLength} bytes`);
    release();
    assert.match(await textOf(socket), /done/);
    assert.equal(total, size);
  });

  test("an upload that is rejected immediately gets its response", async () => {
    at.handle = async (_request, response) => {
      response.start(401, { "content-type": "application/json" });
      await response.end(Buffer.from('{"detail":"no"}'));
    };
    for (let i = 0; i < 3; i++) {
      const bytes = randomBytes(3_000_000);
      const answer = await upload(at.port, bytes, { "content-length": String(bytes.length) });
      assert.equal(answer.status, 401);
      assert.equal(answer.text, '{"detail":"no"}');
    }
  });

  for (const isSized of [true, false]) {
    test(`a download to a slow reader arrives whole, ${isSized ? "with a length" : "chunked"}, and slows the writer`, async () => {
      const block = randomBytes(500_000);
      const blocks = 40;
      let written = 0;
      at.handle = async (_request, response) => {
        response.start(200, isSized ? { "content-length": String(block.length * blocks) } : {});
        for (let i = 0; i < blocks; i++) {
          await response.write(block);
          written += block.length;
        }
        await response.end();
      };
      const answer = await get(at.port, "/");
      answer.pause();
      await pace(150);
      assert.ok(written < block.length * blocks, `a writer waits for its reader, wrote ${written}`);
      const hash = createHash("sha256");
      let total = 0;
      for await (const chunk of answer) {
        hash.update(chunk);
        total += chunk.length;
      }
      const expected = createHash("sha256");
      for (let i = 0; i < blocks; i++) expected.update(block);
      assert.equal(total, block.length * blocks);
      assert.equal(hash.digest("hex"), expected.digest("hex"));
    });
  }

  const ways: Record<string, (response: FrontResponse, departure: Departure) => Promise<void>> = {
    "an answer of known length": async (response, departure) => {
      response.start(200, { "content-length": "300000" });
      await response.end(Buffer.alloc(300_000, 1), departure);
    },
    "a chunk": async (response, departure) => {
      response.start(200, {});
      await response.write(Buffer.alloc(3_000, 1), departure);
      await response.end();
    },
    "a whole answer": async (response, departure) => {
      response.start(200, {});
      await response.end(Buffer.alloc(3_000, 1), departure);
    },
  };
  for (const [way, answer] of Object.entries(ways)) {
    test(`the departure of ${way} is reported before its reader can have all of it`, async () => {
      const received = new Int32Array(new SharedArrayBuffer(4));
      const told: (string | number)[] = [];
      at.handle = async (_request, response) => {
        const departure: Departure = {
          leaving: () => {
            // By then a reader on a separate thread would have woken up.
            Atomics.wait(received, 0, 0, at.inThreads ? 0 : 100);
            told.push("leaving", received[0]!);
          },
          held: () => void told.push("held"),
        };
        await answer(response, departure);
        told.push("sent");
      };
      const reader = new Worker(READER, { eval: true, workerData: { port: at.port, received } });
      const [total] = (await once(reader, "message")) as [number];
      // The reader may have the whole response a moment before its writer knows.
      await eventually("the end of the answer", () => told.at(-1) === "sent");
      assert.ok(told.includes("leaving"), "the handler was notified");
      // Data sent by another thread counts once it is reported.
      if (at.inThreads) return;
      assert.ok(told.slice(0, 2).join() === "leaving,0", `told at once: ${told}`);
      // A late reader delays it, which another test covers; then it is reported again once it has happened.
      const early = told.filter(
        (entry, i) => entry === total && told[i - 1] === "leaving" && told[i - 2] !== "held",
      );
      assert.deepEqual(early, [], "nobody had all of it by then");
    });
  }
}
