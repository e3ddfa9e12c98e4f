import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { Worker } from "node:worker_threads";
import { WebSocket } from "ws";
import type {
  Departure,
  Front,
  FrontHandlers,
  FrontLimits,
  FrontRequest,
  FrontResponse,
  FrontSocket,
  UpgradeDecision,
} from "../../core/ports/front.js";
import { frame, OPCODE, WebSocketClient } from "../attack/support/web-socket-client.js";
import { eventually } from "../support/eventually.js";
import { pace, within } from "../support/pace.js";

const LIMITS: FrontLimits = {
  messageBytes: 64 * 1024,
  stallMs: 30_000,
  readerPace: { leastBytesPerS: 1, graceMs: 60_000 },
  closingMs: 1_000,
  maxConnections: 10_000,
};

/** Invalid frames. */
const REFUSED_FRAMES: Readonly<Record<string, Buffer>> = {
  // The case sends two frames. Read without its mask, the first one is noise, and its rest is read as frames.
  unmasked: Buffer.concat(
    [1, 2].map(() => frame(new Uint8Array(64).fill(255), { opcode: OPCODE.binary, isMasked: false })),
  ),
  "a reserved bit": frame("x", { opcode: OPCODE.binary, reserved: 4 }),
  "a reserved opcode": frame("x", { opcode: 3 }),
  "a long ping": frame(new Uint8Array(126), { opcode: OPCODE.ping }),
  "a ping in fragments": frame("x", { opcode: OPCODE.ping, isFinal: false }),
  "a continuation of nothing": frame("x", { opcode: OPCODE.continuation }),
  "text that is not UTF-8": frame(Uint8Array.of(0xc3, 0x28), { opcode: OPCODE.text }),
  "a close with a wrong code": frame(Uint8Array.of(0x03, 0xe7), { opcode: OPCODE.close }),
  "a close whose reason is not UTF-8": frame(Uint8Array.of(0x03, 0xe8, 0xff), { opcode: OPCODE.close }),
};

/** Much longer than even a busy machine needs. */
const PATIENCE_MS = 60_000;

export type MakeFront = (handlers: FrontHandlers, limits: FrontLimits) => Front;

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

type Handle = (request: FrontRequest, response: FrontResponse) => Promise<void>;

/**
 * Tests what every front must do. Runs once per adapter. With `inThreads`, closing takes effect a moment
 * later.
 */
export function frontContract(name: string, makeFront: MakeFront, { inThreads = false } = {}): void {
  describe(`front ${name}`, { concurrency: 1 }, () => {
    const failures: unknown[] = [];
    let handle: Handle = answerText("unset");
    let decide: (request: FrontRequest) => Promise<UpgradeDecision> = async () => refused(404);
    let front: Front;
    let port = 0;
    let base = "";

    const handlers: FrontHandlers = {
      request: (request, response) => handle(request, response),
      upgrade: (request) => decide(request),
      failed: (error) => failures.push(error),
    };

    before(async () => {
      front = makeFront(handlers, LIMITS);
      port = await front.listen("127.0.0.1", 0);
      base = `http://127.0.0.1:${port}`;
    });

    after(async () => {
      await front.close(100);
    });

    test("method, path, query, headers and remote address reach the handler decoded", async () => {
      let seen: unknown;
      handle = async (request, response) => {
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
      const answer = await fetch(`${base}/a%20b/%D1%81?x=1%2B1&y=a+b&x=2`, {
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

    test("a path that cannot be decoded is marked as malformed", async () => {
      handle = async (request, response) => {
        response.start(request.malformed === null ? 200 : 400, {});
        await response.end();
      };
      const asked = raw(port, "GET /%ff HTTP/1.1\r\nHost: x\r\n\r\n");
      const text = await within(PATIENCE_MS, "its connection is closed by the front", asked);
      assert.match(text, /^HTTP\/1.1 400 /);
    });

    test("the status, headers and length of a response arrive", async () => {
      handle = async (_request, response) => {
        assert.equal(response.hasStarted, false);
        response.start(418, { "x-one": "1", "content-type": "text/plain" });
        assert.equal(response.hasStarted, true);
        await response.end(Buffer.from("short"));
        assert.equal(response.isOver, true);
      };
      const answer = await fetch(base);
      assert.equal(answer.status, 418);
      assert.equal(answer.headers.get("x-one"), "1");
      assert.equal(answer.headers.get("content-length"), "5");
      assert.equal(await answer.text(), "short");
    });

    test("HEAD is answered with headers and without a body, and the connection stays usable", async () => {
      handle = async (_request, response) => {
        response.start(200, { "content-type": "text/plain", "content-length": "10" });
        await response.write(Buffer.from("01234"));
        await response.end(Buffer.from("56789"));
      };
      const text = await raw(
        port,
        "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
      );
      assert.equal(text.match(/HTTP\/1.1 200/g)?.length, 2);
      assert.equal(text.match(/content-length: 10/gi)?.length, 2);
      assert.equal(text.match(/0123456789/g)?.length, 1);
    });

    test("204 has no body", async () => {
      handle = async (_request, response) => {
        response.start(204, {});
        await response.end();
      };
      const answer = await fetch(base, { method: "OPTIONS" });
      assert.equal(answer.status, 204);
      assert.equal(await answer.text(), "");
    });

    for (const isChunked of [false, true]) {
      test(`an upload of several MB to a slow reader arrives whole, ${isChunked ? "chunked" : "with a length"}`, async () => {
        const bytes = randomBytes(6_000_000);
        let received = "";
        let length: number | null = -1;
        handle = async (request, response) => {
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
        const answer = await upload(port, bytes, isChunked ? {} : { "content-length": String(bytes.length) });
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
      handle = async (request, response) => {
        await isReleased;
        for await (const chunk of request.body) total += chunk.length;
        await answerText("done")(request, response);
      };
      const size = 24_000_000;
      const socket = await open(port);
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
      handle = async (_request, response) => {
        response.start(401, { "content-type": "application/json" });
        await response.end(Buffer.from('{"detail":"no"}'));
      };
      for (let i = 0; i < 3; i++) {
        const bytes = randomBytes(3_000_000);
        const answer = await upload(port, bytes, { "content-length": String(bytes.length) });
        assert.equal(answer.status, 401);
        assert.equal(answer.text, '{"detail":"no"}');
      }
    });

    for (const isSized of [true, false]) {
      test(`a download to a slow reader arrives whole, ${isSized ? "with a length" : "chunked"}, and slows the writer`, async () => {
        const block = randomBytes(500_000);
        const blocks = 40;
        let written = 0;
        handle = async (_request, response) => {
          response.start(200, isSized ? { "content-length": String(block.length * blocks) } : {});
          for (let i = 0; i < blocks; i++) {
            await response.write(block);
            written += block.length;
          }
          await response.end();
        };
        const answer = await get(port, "/");
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
      test(`the departure of ${way} is reported before its reader can have received all of it`, async () => {
        const received = new Int32Array(new SharedArrayBuffer(4));
        const told: (string | number)[] = [];
        handle = async (_request, response) => {
          const departure: Departure = {
            leaving: () => {
              // By now a reader on a separate thread would have woken up.
              Atomics.wait(received, 0, 0, inThreads ? 0 : 100);
              told.push("leaving", received[0]!);
            },
            held: () => void told.push("held"),
          };
          await answer(response, departure);
          told.push("sent");
        };
        const reader = new Worker(READER, { eval: true, workerData: { port, received } });
        const [total] = (await once(reader, "message")) as [number];
        // The reader may have received the whole response a moment before its writer knows.
        await eventually("the end of the answer", () => told.at(-1) === "sent");
        assert.ok(told.includes("leaving"), "the handler was notified");
        // Data that another thread sends counts as soon as it is reported.
        if (inThreads) return;
        assert.ok(told.slice(0, 2).join() === "leaving,0", `told at once: ${told}`);
        // A late reader delays the departure, which another test covers. It is reported again once it has
        // happened.
        const early = told.filter(
          (entry, i) => entry === total && told[i - 1] === "leaving" && told[i - 2] !== "held",
        );
        assert.deepEqual(early, [], "nobody had all of it by then");
      });
    }

    test("a departure that a slow reader delays is withdrawn, and reported again when it happens", async () => {
      const told: string[] = [];
      const block = randomBytes(20_000_000);
      const departure: Departure = {
        leaving: () => void told.push("leaving"),
        held: () => void told.push("held"),
      };
      handle = async (_request, response) => {
        response.start(200, { "content-length": String(block.length) });
        await response.end(block, departure);
      };
      const answer = await get(port, "/");
      answer.pause();
      await (inThreads ? pace(150) : eventually("the departure is taken back", () => told.at(-1) === "held"));
      for await (const chunk of answer) assert.ok(chunk.length > 0);
      await eventually("the departure", () => told.at(-1) === "leaving");
    });

    test("written bytes are sent before the next write", async () => {
      let release = () => {};
      const isReleased = new Promise<void>((resolve) => {
        release = resolve;
      });
      handle = async (_request, response) => {
        response.start(200, {});
        await response.write(Buffer.from("first"));
        await isReleased;
        await response.end(Buffer.from("second"));
      };
      const answer = await get(port, "/");
      const [first] = (await within(PATIENCE_MS, "the first part", once(answer, "data"))) as [Buffer];
      assert.equal(String(first), "first");
      release();
      assert.equal(String(((await once(answer, "data")) as [Buffer])[0]), "second");
    });

    test("a backlog is sent even if the writer pauses after it", async () => {
      const block = randomBytes(8_000_000);
      handle = async (_request, response) => {
        response.start(200, {});
        await response.write(block);
        await pace(300);
        await response.end(Buffer.from("end"));
      };
      const answer = await get(port, "/");
      answer.pause();
      await pace(50);
      let total = 0;
      for await (const chunk of answer) total += chunk.length;
      assert.equal(total, block.length + 3);
    });

    test("a client that leaves in the middle of a response aborts the signal and ends the writer", async () => {
      const ended = deferred<{ aborted: boolean; code: unknown }>();
      handle = async (request, response) => {
        response.start(200, {});
        try {
          for (;;) await response.write(Buffer.alloc(100_000));
        } catch (error) {
          await eventually(
            "the signal, which may come right after the failed write",
            () => request.signal.aborted,
          );
          ended.resolve({ aborted: true, code: (error as { code?: unknown }).code });
          throw error;
        }
      };
      const answer = await get(port, "/");
      answer.once("data", () => answer.destroy());
      assert.deepEqual(await ended.promise, { aborted: true, code: "CANCELLED" });
    });

    test("a client that leaves before the handler responds aborts the signal", async () => {
      const begun = deferred<void>();
      const aborted = deferred<boolean>();
      handle = async (request, response) => {
        request.signal.addEventListener("abort", () => aborted.resolve(true));
        begun.resolve();
        await aborted.promise;
        response.reset();
      };
      const socket = await open(port);
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      await begun.promise;
      socket.destroy();
      assert.equal(await within(PATIENCE_MS, "the handler is notified", aborted.promise), true);
    });

    test("a client that leaves in the middle of its upload fails the body", async () => {
      const begun = deferred<void>();
      const failed = deferred<unknown>();
      handle = async (request, response) => {
        try {
          for await (const _ of request.body) begun.resolve();
        } catch (error) {
          failed.resolve((error as { code?: unknown }).code);
          response.reset();
        }
      };
      const socket = await open(port);
      socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf");
      await begun.promise;
      socket.destroy();
      assert.equal(await within(PATIENCE_MS, "the body fails", failed.promise), "CANCELLED");
    });

    test("a reset response cannot be mistaken for a complete one", async () => {
      handle = async (_request, response) => {
        response.start(200, {});
        await response.write(Buffer.from("part"));
        await pace(20);
        response.reset();
        assert.equal(response.isOver, true);
      };
      await assert.rejects(fetch(base).then((answer) => answer.text()));
    });

    test("when a handler throws, the client gets 500 {detail} and the front keeps running", async () => {
      for (const isAsync of [false, true]) {
        failures.length = 0;
        handle = isAsync
          ? async () => {
              await pace(5);
              throw new Error("secret");
            }
          : () => {
              throw new Error("secret");
            };
        const answer = await fetch(base);
        assert.equal(answer.status, 500);
        assert.deepEqual(await answer.json(), { detail: "internal error" });
        assert.equal(failures.length, 1);
      }
    });

    test("a handler that throws after it has begun its response breaks the connection", async () => {
      handle = async (_request, response) => {
        response.start(200, {});
        await response.write(Buffer.from("part"));
        throw new Error("secret");
      };
      await assert.rejects(fetch(base).then((answer) => answer.text()));
    });

    test("when a handler forgets to respond, the client gets 500", async () => {
      handle = async () => {};
      assert.equal((await fetch(base)).status, 500);
    });

    for (const [what, headers] of [
      ["conflicting lengths", "Content-Length: 3\r\nContent-Length: 5"],
      ["the same length twice", "Content-Length: 3\r\nContent-Length: 3"],
      ["a length and chunks", "Content-Length: 3\r\nTransfer-Encoding: chunked"],
      ["a length that is no number", "Content-Length: 3x"],
      ["a list of lengths", "Content-Length: 3, 3"],
      ["no length behind its name", "Content-Length:"],
      ["a coding before chunked", "Transfer-Encoding: gzip, chunked"],
      ["a coding that ends like chunked", "Transfer-Encoding: xchunked"],
      ["another coding", "Transfer-Encoding: identity"],
      ["two codings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"],
      ["no coding behind its name", "Transfer-Encoding:"],
      ["two hosts", "Host: y"],
    ] as const) {
      test(`a request with ${what} never reaches a handler as valid, and its connection ends`, async () => {
        let good = 0;
        handle = async (request, response) => {
          if (request.malformed === null) good++;
          response.start(request.malformed === null ? 200 : 400, {});
          await response.end();
        };
        const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
        const asked = raw(port, `POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\nabc${smuggled}`);
        const text = await within(PATIENCE_MS, "its connection is closed by the front", asked);
        assert.equal(good, 0, text);
        assert.ok(text === "" || /^HTTP\/1.1 400/.test(text), text);
        assert.ok(text === "" || /^connection: close\r$/im.test(text), text);
        assert.equal(text.match(/HTTP\/1.1/g)?.length ?? 0, text === "" ? 0 : 1);
      });
    }

    test("text and binary messages of a socket are echoed", async () => {
      decide = async () => accepted(null, echo);
      const socket = new WebSocket(`ws://127.0.0.1:${port}/echo`);
      await once(socket, "open");
      socket.send("сәлем");
      assert.deepEqual(await message(socket), ["сәлем", false]);
      const bytes = randomBytes(40_000);
      socket.send(bytes);
      const [echoed, isBinary] = await message(socket);
      assert.equal(isBinary, true);
      assert.deepEqual(echoed, bytes);
      socket.close(1000, "bye");
      assert.equal((await once(socket, "close"))[0], 1000);
    });

    test("an upgrade waits for its decision, which may reject it with a status and a body", async () => {
      decide = async (request) => {
        await pace(30);
        return request.header("authorization") === "Bearer good" ? accepted(null, echo) : refused(401);
      };
      const refusal = await handshake(port, {});
      assert.equal(refusal.statusCode, 401);
      assert.equal(refusal.headers["x-svc-error"], "key_invalid");
      assert.equal(await textOf(refusal), '{"detail":"no"}');
      const socket = new WebSocket(`ws://127.0.0.1:${port}/`, {
        headers: { authorization: "Bearer good" },
      });
      await once(socket, "open");
      socket.terminate();
    });

    test("when an upgrade decision throws, the client gets 500", async () => {
      decide = async () => {
        throw new Error("secret");
      };
      assert.equal((await handshake(port, {})).statusCode, 500);
    });

    test("a client may leave while its upgrade is decided", async () => {
      const decided = deferred<void>();
      decide = async () => {
        await pace(50);
        decided.resolve();
        return accepted(null, echo);
      };
      const socket = await open(port);
      socket.write(handshakeText({}));
      await pace(10);
      socket.destroy();
      await decided.promise;
      await pace(20);
      handle = answerText("alive");
      assert.equal(await (await fetch(base)).text(), "alive");
    });

    test("the chosen subprotocol and the headers are in the response", async () => {
      decide = async (request) => {
        assert.equal(request.header("sec-websocket-protocol"), "svc-bearer,abc");
        return { ...accepted("svc-bearer", echo), headers: { "x-request-id": "req_1" } };
      };
      const socket = new WebSocket(`ws://127.0.0.1:${port}/`, ["svc-bearer", "abc"]);
      const upgrade = once(socket, "upgrade") as Promise<[IncomingMessage]>;
      await once(socket, "open");
      assert.equal(socket.protocol, "svc-bearer");
      assert.equal((await upgrade)[0].headers["x-request-id"], "req_1");
      socket.terminate();
    });

    test("the server's close code and reason arrive after everything that it sent", async () => {
      decide = async () =>
        accepted(null, (socket) => {
          for (let i = 0; i < 50; i++) socket.sendText(`${i}`.padEnd(10_000, "."));
          socket.close(4401, "key_invalid");
          socket.sendText("too late");
          return { text() {}, binary() {}, closed() {} };
        });
      const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
      const texts: string[] = [];
      socket.on("message", (data) => texts.push(String(data)));
      const [code, reason] = await once(socket, "close");
      assert.equal(code, 4401);
      assert.equal(String(reason), "key_invalid");
      assert.equal(texts.length, 50);
    });

    test("the owner is notified exactly once of how a socket ended", async () => {
      for (const ending of ["close", "terminate"] as const) {
        const ended = deferred<number>();
        let calls = 0;
        decide = async () =>
          accepted(null, () => ({
            text() {},
            binary() {},
            closed(code) {
              calls++;
              ended.resolve(code);
            },
          }));
        const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
        await once(socket, "open");
        if (ending === "close") socket.close(4000, "x");
        else socket.terminate();
        assert.equal(await ended.promise, ending === "close" ? 4000 : 1006);
        await pace(20);
        assert.equal(calls, 1);
      }
    });

    test("a message that is too big closes the socket with 1009", async () => {
      decide = async () => accepted(null, echo);
      const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
      await once(socket, "open");
      socket.send(Buffer.alloc(LIMITS.messageBytes + 1));
      assert.equal((await once(socket, "close"))[0], 1009);
    });

    // See "Rejected frames" in docs/live-protocol.md.
    test("a frame that breaks the protocol ends the connection, with a code from ws and none from uWebSockets.js", async () => {
      decide = async () => accepted(null, echo);
      const codes: Record<string, number | null> = {};
      for (const [what, bytes] of Object.entries(REFUSED_FRAMES)) {
        const client = await WebSocketClient.open({ port, path: "/", key: null });
        assert.equal(client.status, 101);
        await client.write(bytes);
        codes[what] = (await client.ended())?.code ?? null;
      }
      const ofWs = {
        ...{ unmasked: 1002, "a reserved bit": 1002, "a reserved opcode": 1002, "a long ping": 1002 },
        ...{ "a ping in fragments": 1002, "a continuation of nothing": 1002, "text that is not UTF-8": 1007 },
        ...{ "a close with a wrong code": 1002, "a close whose reason is not UTF-8": 1007 },
      };
      // Every invalid close frame gets a close frame without a code.
      const ofUws = Object.keys(ofWs).map((what) => [what, what.startsWith("a close") ? 1005 : null]);
      assert.deepEqual(codes, name === "node" ? ofWs : Object.fromEntries(ofUws));
    });

    test("a socket owner that throws closes the socket with 1011", async () => {
      decide = async () =>
        accepted(null, () => ({
          text() {
            throw new Error("secret");
          },
          binary() {},
          closed() {},
        }));
      const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
      await once(socket, "open");
      socket.send("x");
      assert.equal((await once(socket, "close"))[0], 1011);
    });

    test("a client that floods the socket gets its owner's closing messages, and no more of its messages are delivered", async () => {
      const SENT = 5_000;
      const floodClosing = { messages: ["too much", Uint8Array.of(7)], code: 4400, reason: "flood" };
      let handedOn = 0;
      let told = 0;
      const ended = deferred<void>();
      const owner = {
        text: () => void handedOn++,
        binary: () => assert.fail("nothing binary was sent"),
        flooded: () => void told++,
        closed: () => ended.resolve(),
      };
      decide = async () => ({ ...accepted(null, () => owner), floodClosing });
      const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
      const heard: unknown[] = [];
      socket.on("message", (data: Buffer, isBinary) => heard.push(isBinary ? [...data] : String(data)));
      await once(socket, "open");
      const closed = once(socket, "close");
      for (let nth = 0; nth < SENT; nth++) socket.send("x");
      const [code, reason] = await closed;
      assert.deepEqual([code, String(reason)], [4400, "flood"]);
      assert.deepEqual(heard, ["too much", [7]]);
      await ended.promise;
      assert.equal(told, 1);
      assert.ok(handedOn < SENT, `${handedOn} messages were handed on`);
    });

    test("messages to a client that reads late are counted, and none is lost", async () => {
      const counted = deferred<number>();
      const count = 600;
      const text = "x".repeat(20_000);
      decide = async () =>
        accepted(null, (socket) => {
          for (let i = 0; i < count; i++) socket.sendText(`${i} ${text}`);
          counted.resolve(socket.bufferedBytes);
          return { text() {}, binary() {}, closed() {} };
        });
      const client = await open(port);
      client.pause();
      client.write(handshakeText({}));
      assert.ok((await counted.promise) > 1_000_000);
      await pace(100);
      let received = Buffer.alloc(0);
      const chunks: Buffer[] = [];
      let total = 0;
      const expected = count * (text.length + 2);
      for await (const chunk of client) {
        chunks.push(chunk);
        total += chunk.length;
        if (total >= expected) break;
      }
      received = Buffer.concat(chunks);
      const numbers = [...received.toString("latin1").matchAll(/(\d+) x/g)].map((match) => Number(match[1]));
      assert.deepEqual(
        numbers.slice(0, count - 2),
        Array.from({ length: count - 2 }, (_, i) => i),
      );
    });

    test("a port in use is an error", async () => {
      const other = makeFront(handlers, LIMITS);
      await assert.rejects(other.listen("127.0.0.1", port), /Cannot listen on 127.0.0.1/);
    });

    test("close lets a running response finish and accepts no new connection", async () => {
      const own = makeFront(handlers, LIMITS);
      const ownPort = await own.listen("127.0.0.1", 0);
      const begun = deferred<void>();
      const goesOn = deferred<void>();
      handle = async (request, response) => {
        begun.resolve();
        await goesOn.promise;
        await answerText("finished")(request, response);
      };
      const answer = fetch(`http://127.0.0.1:${ownPort}/`).then((response) => response.text());
      await begun.promise;
      const closed = own.close(PATIENCE_MS);
      await (inThreads ? untilRefused(ownPort) : assert.rejects(open(ownPort)));
      goesOn.resolve();
      assert.equal(await answer, "finished");
      await closed;
    });

    test("close cuts off whatever has not ended in time", async () => {
      const own = makeFront(handlers, LIMITS);
      const ownPort = await own.listen("127.0.0.1", 0);
      decide = async () => accepted(null, echo);
      const socket = new WebSocket(`ws://127.0.0.1:${ownPort}/`);
      await once(socket, "open");
      const closed = once(socket, "close");
      await own.close(50);
      assert.equal((await closed)[0], 1006);
    });
  });
}

function answerText(text: string): Handle {
  return async (_request, response) => {
    response.start(200, { "content-type": "text/plain" });
    await response.end(Buffer.from(text));
  };
}

function refused(status: number): UpgradeDecision {
  const headers = { "content-type": "application/json", "x-svc-error": "key_invalid" };
  return { type: "refuse", status, headers, body: '{"detail":"no"}' };
}

type Accept = Extract<UpgradeDecision, { type: "accept" }>;

function accepted(protocol: string | null, open: Accept["open"]): Accept {
  return { type: "accept", protocol, headers: {}, open };
}

function echo(socket: FrontSocket) {
  return {
    text: (text: string) => socket.sendText(text),
    binary: (bytes: Uint8Array) => socket.sendBinary(Uint8Array.from(bytes)),
    closed: () => {},
  };
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function once(
  emitter: { once(event: string, listener: (...args: unknown[]) => void): unknown },
  event: string,
): Promise<unknown[]> {
  return new Promise((resolve) => emitter.once(event, (...args) => resolve(args)));
}

async function message(socket: WebSocket): Promise<[string | Buffer, boolean]> {
  const [data, isBinary] = (await once(socket, "message")) as [Buffer, boolean];
  return [isBinary ? data : String(data), isBinary];
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.on("error", reject);
  });
}

/** Waits until the port refuses connections. A front in other threads stops listening a moment later. */
async function untilRefused(port: number): Promise<void> {
  await eventually("new connections are refused", () =>
    open(port).then(
      (socket) => {
        socket.destroy();
        return false;
      },
      () => true,
    ),
  );
}

/**
 * Sends the texts on one connection, each after the response headers of the previous one. Returns everything
 * that was received until the connection closed.
 */
async function raw(port: number, ...texts: string[]): Promise<string> {
  const socket = await open(port);
  let text = "";
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("data", (bytes) => {
    text += bytes.toString();
  });
  for (const [sent, request] of texts.entries()) {
    await eventually("an answer", () => socket.destroyed || text.split("\r\n\r\n").length > sent);
    socket.write(request);
  }
  await closed;
  return text;
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk);
  } catch {
    // If the connection is cut, the data received so far counts.
  }
  return Buffer.concat(chunks).toString();
}

function get(port: number, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpRequest({ port, path, host: "127.0.0.1", agent: false }, resolve).on("error", reject).end();
  });
}

function upload(
  port: number,
  bytes: Buffer,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { port, host: "127.0.0.1", method: "POST", headers, agent: false },
      (answer) =>
        void textOf(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject),
    );
    request.on("error", reject);
    for (let start = 0; start < bytes.length; start += 100_000)
      request.write(bytes.subarray(start, start + 100_000));
    request.end();
  });
}

function handshakeText(headers: Record<string, string>): string {
  const all = {
    host: "x",
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": randomBytes(16).toString("base64"),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
}

function handshake(port: number, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers });
    socket.on("unexpected-response", (_request, answer) => resolve(answer));
    socket.on("error", reject);
  });
}
