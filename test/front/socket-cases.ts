import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { WebSocket } from "ws";
import { frame, OPCODE, WebSocketClient } from "../attack/support/web-socket-client.js";
import { deferred } from "../support/deferred.js";
import { pace } from "../support/pace.js";
import {
  accepted,
  answerText,
  echo,
  handshake,
  handshakeText,
  LIMITS,
  message,
  once,
  open,
  PATIENCE_MS,
  refused,
  type TestedFront,
  textOf,
  untilRefused,
} from "./tested-front.js";

/** Invalid requests. */
const REFUSED_FRAMES: Readonly<Record<string, Buffer>> = {
  // Two of them: without its mask, the first is read as noise and its rest as frames.
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

/** WebSockets, and the end of the front. */
export function socketCases(at: TestedFront): void {
  test("text and binary messages of a socket come back", async () => {
    at.decide = async () => accepted(null, echo);
    const socket = new WebSocket(`ws://127.0.0.1:${at.port}/echo`);
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
    at.decide = async (request) => {
      await pace(30);
      return request.header("authorization") === "Bearer good" ? accepted(null, echo) : refused(401);
    };
    const refusal = await handshake(at.port, {});
    assert.equal(refusal.statusCode, 401);
    assert.equal(refusal.headers["x-svc-error"], "key_invalid");
    assert.equal(await textOf(refusal), '{"detail":"no"}');
    const socket = new WebSocket(`ws://127.0.0.1:${at.port}/`, {
      headers: { authorization: "Bearer good" },
    });
    await once(socket, "open");
    socket.terminate();
  });

  test("an upgrade decision that throws is answered with 500", async () => {
    at.decide = async () => {
      throw new Error("secret");
    };
    assert.equal((await handshake(at.port, {})).statusCode, 500);
  });

  test("a client that leaves while its upgrade is decided does no harm", async () => {
    const decided = deferred<void>();
    at.decide = async () => {
      await pace(50);
      decided.resolve();
      return accepted(null, echo);
    };
    const socket = await open(at.port);
    socket.write(handshakeText({}));
    await pace(10);
    socket.destroy();
    await decided.promise;
    await pace(20);
    at.handle = answerText("alive");
    assert.equal(await (await fetch(at.base)).text(), "alive");
  });

  test("the chosen subprotocol and the headers are in the answer", async () => {
    at.decide = async (request) => {
      assert.equal(request.header("sec-websocket-protocol"), "svc-bearer,abc");
      return { ...accepted("svc-bearer", echo), headers: { "x-request-id": "req_1" } };
    };
    const socket = new WebSocket(`ws://127.0.0.1:${at.port}/`, ["svc-bearer", "abc"]);
    const upgrade = once(socket, "upgrade") as Promise<[IncomingMessage]>;
    await once(socket, "open");
    assert.equal(socket.protocol, "svc-bearer");
    assert.equal((await upgrade)[0].headers["x-request-id"], "req_1");
    socket.terminate();
  });

  test("the server's close code and reason arrive after what it sent", async () => {
    at.decide = async () =>
      accepted(null, (socket) => {
        for (let i = 0; i < 50; i++) socket.sendText(`${i}`.padEnd(10_000, "."));
        socket.close(4401, "key_invalid");
        socket.sendText("too late");
        return { text() {}, binary() {}, closed() {} };
      });
    const socket = new WebSocket(`ws://127.0.0.1:${at.port}/`);
    const texts: string[] = [];
    socket.on("message", (data) => texts.push(String(data)));
    const [code, reason] = await once(socket, "close");
    assert.equal(code, 4401);
    assert.equal(String(reason), "key_invalid");
    assert.equal(texts.length, 50);
  });

  test("the owner is notified once how a socket ended", async () => {
    for (const ending of ["close", "terminate"] as const) {
      const ended = deferred<number>();
      let calls = 0;
      at.decide = async () =>
        accepted(null, () => ({
          text() {},
          binary() {},
          closed(code) {
            calls++;
            ended.resolve(code);
          },
        }));
      const socket = new WebSocket(`ws://127.0.0.1:${at.port}/`);
      await once(socket, "open");
      if (ending === "close") socket.close(4000, "x");
      else socket.terminate();
      assert.equal(await ended.promise, ending === "close" ? 4000 : 1006);
      await pace(20);
      assert.equal(calls, 1);
    }
  });

  test("a message that is too big closes the socket with 1009", async () => {
    at.decide = async () => accepted(null, echo);
    const socket = new WebSocket(`ws://127.0.0.1:${at.port}/`);
    await once(socket, "open");
    socket.send(Buffer.alloc(LIMITS.messageBytes + 1));
    assert.equal((await once(socket, "close"))[0], 1009);
  });

  // See "Rejected frames" in docs/live-protocol.md.
  test("a frame that breaks the protocol ends the connection, with a code from ws and none from uWebSockets.js", async () => {
    at.decide = async () => accepted(null, echo);
    const codes: Record<string, number | null> = {};
    for (const [what, bytes] of Object.entries(REFUSED_FRAMES)) {
      const client = await WebSocketClient.open({ port: at.port, path: "/", key: null });
      assert.equal(client.status, 101);
      await client.write(bytes);
      codes[what] = (await client.ended())?.code ?? null;
    }
    const ofWs = {
      ...{ unmasked: 1002, "a reserved bit": 1002, "a reserved opcode": 1002, "a long ping": 1002 },
      ...{ "a ping in fragments": 1002, "a continuation of nothing": 1002, "text that is not UTF-8": 1007 },
      ...{ "a close with a wrong code": 1002, "a close whose reason is not UTF-8": 1007 },
    };
    // Any invalid close frame is answered with one without a code.
    const ofUws = Object.keys(ofWs).map((what) => [what, what.startsWith("a close") ? 1005 : null]);
    assert.deepEqual(codes, at.name === "node" ? ofWs : Object.fromEntries(ofUws));
  });

  test("a socket owner that throws closes the socket with 1011", async () => {
    at.decide = async () =>
      accepted(null, () => ({
        text() {
          throw new Error("secret");
        },
        binary() {},
        closed() {},
      }));
    const socket = new WebSocket(`ws://127.0.0.1:${at.port}/`);
    await once(socket, "open");
    socket.send("x");
    assert.equal((await once(socket, "close"))[0], 1011);
  });

  test("a client that floods gets its owner's closing messages, and no more of its messages are delivered", async () => {
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
    at.decide = async () => ({ ...accepted(null, () => owner), floodClosing });
    const socket = new WebSocket(`ws://127.0.0.1:${at.port}/`);
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
    at.decide = async () =>
      accepted(null, (socket) => {
        for (let i = 0; i < count; i++) socket.sendText(`${i} ${text}`);
        counted.resolve(socket.bufferedBytes);
        return { text() {}, binary() {}, closed() {} };
      });
    const client = await open(at.port);
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
    const other = at.another();
    await assert.rejects(other.listen("127.0.0.1", at.port), /Cannot listen on 127.0.0.1/);
  });

  test("close lets a running answer finish and takes no new connection", async () => {
    const own = at.another();
    const ownPort = await own.listen("127.0.0.1", 0);
    const begun = deferred<void>();
    const goesOn = deferred<void>();
    at.handle = async (request, response) => {
      begun.resolve();
      await goesOn.promise;
      await answerText("finished")(request, response);
    };
    const answer = fetch(`http://127.0.0.1:${ownPort}/`).then((response) => response.text());
    await begun.promise;
    const closed = own.close(PATIENCE_MS);
    await (at.inThreads ? untilRefused(ownPort) : assert.rejects(open(ownPort)));
    goesOn.resolve();
    assert.equal(await answer, "finished");
    await closed;
  });

  test("close cuts what is not over in time", async () => {
    const own = at.another();
    const ownPort = await own.listen("127.0.0.1", 0);
    at.decide = async () => accepted(null, echo);
    const socket = new WebSocket(`ws://127.0.0.1:${ownPort}/`);
    await once(socket, "open");
    const closed = once(socket, "close");
    await own.close(50);
    assert.equal((await closed)[0], 1006);
  });
}
