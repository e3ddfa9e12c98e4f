import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { WebSocket } from "ws";
import { DEFAULT_FRONT_LIMITS, type FrontHandlers, type SocketEvents } from "../../../core/ports/front.js";
import { NodeFront } from "../../../src/front/node/node-front.js";

const HOST = "Host: here.test\r\n";

const handlers = (overrides: Partial<FrontHandlers> = {}): FrontHandlers => ({
  request: async (_request, response) => {
    response.start(200, {});
    await response.end();
  },
  upgrade: async () => ({ type: "refuse", status: 404, headers: {}, body: "" }),
  failed: (error) => assert.fail(String(error)),
  ...overrides,
});

async function withFront(served: FrontHandlers, use: (port: number) => Promise<void>): Promise<void> {
  const front = new NodeFront(served, DEFAULT_FRONT_LIMITS);
  try {
    await use(await front.listen("127.0.0.1", 0));
  } finally {
    await front.close(0);
  }
}

/** Writes all of `bytes`, and settles with the response once the connection has closed. */
function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket: Socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk) => (received += chunk));
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
  });
}

/** Counts how often Node's parser delivers a piece of a body while `act` runs. */
async function handedPieces(act: () => Promise<void>): Promise<number> {
  const push = IncomingMessage.prototype.push;
  let count = 0;
  IncomingMessage.prototype.push = function (this: IncomingMessage, chunk: unknown, ...rest: []) {
    if (chunk !== null && this.socket.localPort !== undefined && this.method !== undefined) count++;
    return push.call(this, chunk, ...rest);
  };
  try {
    await act();
  } finally {
    IncomingMessage.prototype.push = push;
  }
  return count;
}

const SMALL_CHUNKS = 40_000;
const chunked = (path: string) =>
  `POST ${path} HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(SMALL_CHUNKS)}`;

test("a rejected body in small chunks stops and reduces the budget of the next one", async () => {
  const reads = handlers({
    request: async (request, response) => {
      let status = 200;
      try {
        for await (const chunk of request.body) void chunk;
      } catch {
        status = 400;
      }
      response.start(status, {});
      await response.end();
    },
  });
  await withFront(reads, async (port) => {
    const first = await handedPieces(async () => assert.match(await exchange(port, chunked("/")), / 400 /));
    // While these wait, as many more arrive as are allowed each second.
    assert.ok(first > 2_000 && first < SMALL_CHUNKS / 3, `${first} of ${SMALL_CHUNKS} chunks`);
    const next = await handedPieces(async () => assert.match(await exchange(port, chunked("/")), / 400 /));
    assert.ok(next < first, `${next} chunks of a watched address, ${first} at first`);
  });
});

test("an unread body is not delivered after the response", async () => {
  const refuses = handlers({
    request: async (_request, response) => {
      response.start(401, {});
      await response.end();
    },
  });
  await withFront(refuses, async (port) => {
    let answer = "";
    const count = await handedPieces(async () => {
      // The end of the body is still recognized, so the connection accepts another request.
      answer = await exchange(
        port,
        `${chunked("/")}0\r\n\r\nGET / HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
      );
    });
    assert.equal(answer.match(/HTTP\/1.1 401/g)?.length, 2);
    // One more read may be in flight before the response is sent.
    assert.ok(count < SMALL_CHUNKS / 2, `${count} of ${SMALL_CHUNKS} chunks`);
  });
});

test("the parser reads only as many requests of a burst as the front answers", async () => {
  let count = 0;
  const counted = () => void count++;
  subscribe("http.server.request.start", counted);
  try {
    await withFront(handlers(), async (port) => {
      const answer = await exchange(port, `GET / HTTP/1.1\r\n${HOST}\r\n`.repeat(20_000));
      assert.equal(answer.match(/HTTP\/1.1 200/g)?.length, 32);
    });
  } finally {
    unsubscribe("http.server.request.start", counted);
  }
  assert.ok(count <= 33, `${count} requests`);
});

test("a parser that ignored one connection serves the next one", async () => {
  await withFront(handlers(), async (port) => {
    for (let round = 0; round < 5; round++) {
      await exchange(port, `GET / HTTP/1.1\r\n${HOST}\r\n`.repeat(100));
      assert.match(
        await exchange(port, `GET / HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`),
        /HTTP\/1.1 200/,
      );
    }
  });
});

test("the front delivers few messages of a socket per turn of the event loop, however many one read contains", async () => {
  const MESSAGES = 2_000;
  let inTurn = 0;
  let most = 0;
  let heard = 0;
  let done: () => void = () => {};
  const all = new Promise<void>((resolve) => {
    done = resolve;
  });
  const events: SocketEvents = {
    text: () => {},
    binary: () => {
      if (inTurn++ === 0) setImmediate(() => (inTurn = 0));
      most = Math.max(most, inTurn);
      if (++heard === MESSAGES) done();
    },
    closed: () => {},
  };
  const accepts = handlers({
    upgrade: async () => ({ type: "accept", protocol: null, headers: {}, open: () => events }),
  });
  await withFront(accepts, async (port) => {
    const client = new WebSocket(`ws://127.0.0.1:${port}/`);
    await new Promise((resolve) => client.once("open", resolve));
    for (let i = 0; i < MESSAGES; i++) client.send(new Uint8Array(320));
    await all;
    client.terminate();
  });
  assert.ok(most <= 8, `${most} messages in one turn`);
});

test("the front reads the whole request after an unread body, even from the same chunk", async () => {
  const bodies: string[] = [];
  const reads = handlers({
    request: async (request, response) => {
      if (request.path === "/read") {
        let body = "";
        for await (const chunk of request.body) body += Buffer.from(chunk).toString();
        bodies.push(body);
      }
      response.start(200, {});
      await response.end();
    },
  });
  await withFront(reads, async (port) => {
    const socket = connect(port, "127.0.0.1");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(`POST /unread HTTP/1.1\r\n${HOST}Content-Length: 8\r\n\r\nhalf`);
    // The response has been sent, so the rest of the body is ignored.
    await new Promise((resolve) => socket.once("data", resolve));
    socket.write(`restPOST /read HTTP/1.1\r\n${HOST}Connection: close\r\nContent-Length: 5\r\n\r\nwhole`);
    await closed;
  });
  assert.deepEqual(bodies, ["whole"]);
});

test("unread bodies leave no state on their connection", async () => {
  const warnings: string[] = [];
  const warned = (warning: Error) => void warnings.push(warning.name);
  process.on("warning", warned);
  try {
    await withFront(handlers(), async (port) => {
      const socket = connect(port, "127.0.0.1");
      for (let i = 0; i < 30; i++) {
        socket.write(`POST / HTTP/1.1\r\n${HOST}Content-Length: 8\r\n\r\nhalf`);
        await new Promise((resolve) => socket.once("data", resolve));
        socket.write("rest");
      }
      socket.write(`GET / HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`);
      socket.resume();
      await new Promise((resolve) => socket.once("close", resolve));
    });
  } finally {
    process.off("warning", warned);
  }
  assert.deepEqual(warnings, []);
});
