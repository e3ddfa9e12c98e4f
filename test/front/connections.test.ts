import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { createLog } from "../../core/observe/log.js";
import {
  DEFAULT_FRONT_LIMITS,
  type Front,
  type FrontHandlers,
  type FrontLimits,
  type FrontRequest,
  type FrontResponse,
} from "../../core/ports/front.js";
import { NodeFront } from "../../src/front/node/node-front.js";
import { ThreadedFront } from "../../src/front/threads/threaded-front.js";
import { loadUwsBinding } from "../../src/front/uws/load-binding.js";
import { UwsFront } from "../../src/front/uws/uws-front.js";
import { eventually } from "../support/eventually.js";
import { pace } from "../support/pace.js";
import { Client } from "./byte-client.js";

/** Longer than the native library's own timeout. */
const LATE_MS = 14_000;
const PIPELINED_REQUESTS = 32;

const binding = loadUwsBinding();
const log = createLog({ level: "silent" });
const fronts: Record<string, (handlers: FrontHandlers, limits: FrontLimits) => Front> = {
  node: (handlers, limits) => new NodeFront(handlers, limits),
  ...(typeof binding !== "string" && {
    uws: (handlers, limits) => new UwsFront(binding, handlers, limits),
    "uws in two threads": (handlers, limits) => new ThreadedFront({ threadCount: 2, handlers, limits, log }),
  }),
};

const length = (bytes: number) => `Host: here\r\nContent-Length: ${bytes}`;
const HOST = "Host: here";
const CHUNKED = `${HOST}\r\nTransfer-Encoding: chunked`;
const chunks = (...texts: string[]) =>
  [...texts, ""].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join("");

/**
 * Data that clients send, piece by piece, before they fall silent. `/read` responds once it has read the
 * body, every other path without reading it.
 */
const SILENCES: Record<string, readonly string[]> = {
  nothing: [],
  "half a head": ["GET /health HT"],
  "a head without its end": [`GET /health HTTP/1.1\r\n${HOST}\r\n`],
  GET: [`GET /health HTTP/1.1\r\n${HOST}\r\n\r\n`],
  "GET with a body": [`GET /health HTTP/1.1\r\n${length(3)}\r\n\r\nabc`],
  "GET with a body that comes later": [`GET /health HTTP/1.1\r\n${length(3)}\r\n\r\n`, "abc"],
  "GET and then half of another": [`GET /health HTTP/1.1\r\n${HOST}\r\n\r\n`, "GET /health"],
  HEAD: [`HEAD /health HTTP/1.1\r\n${HOST}\r\n\r\n`],
  "HEAD with a body": [`HEAD /health HTTP/1.1\r\n${length(3)}\r\n\r\nabc`],
  OPTIONS: [`OPTIONS /none HTTP/1.1\r\n${HOST}\r\n\r\n`],
  "OPTIONS with a body that comes later": [`OPTIONS /none HTTP/1.1\r\n${length(3)}\r\n\r\n`, "abc"],
  "POST without a body": [`POST /health HTTP/1.1\r\n${length(0)}\r\n\r\n`],
  "POST that is answered at once": [`POST /health HTTP/1.1\r\n${length(3)}\r\n\r\nabc`],
  "POST whose body comes after its answer": [`POST /health HTTP/1.1\r\n${length(6)}\r\n\r\n`, "abc", "def"],
  "POST whose body ends half way, after its answer": [`POST /health HTTP/1.1\r\n${length(6)}\r\n\r\nabc`],
  "POST whose long body comes after its answer": [
    `POST /health HTTP/1.1\r\n${length(600_000)}\r\n\r\n`,
    "x".repeat(300_000),
    "x".repeat(300_000),
  ],
  "POST that is read": [`POST /read HTTP/1.1\r\n${length(3)}\r\n\r\nabc`],
  "POST that is read as it comes": [`POST /read HTTP/1.1\r\n${length(6)}\r\n\r\n`, "abc", "def"],
  "POST that is longer than the queue": [
    `POST /read HTTP/1.1\r\n${length(900_000)}\r\n\r\n`,
    "x".repeat(900_000),
  ],
  "chunks that are read": [`POST /read HTTP/1.1\r\n${CHUNKED}\r\n\r\n${chunks("abc", "def")}`],
  "chunks that are not read": [`POST /health HTTP/1.1\r\n${CHUNKED}\r\n\r\n${chunks("abc", "def")}`],
  "chunks after their answer": [`POST /health HTTP/1.1\r\n${CHUNKED}\r\n\r\n`, chunks("abc"), chunks()],
  "no chunks": [`POST /health HTTP/1.1\r\n${CHUNKED}\r\n\r\n${chunks()}`],
  "Expect: 100-continue": [`POST /read HTTP/1.1\r\n${length(3)}\r\nExpect: 100-continue\r\n\r\n`, "abc"],
  "Expect: 100-continue that is refused": [
    `POST /health HTTP/1.1\r\n${length(3)}\r\nExpect: 100-continue\r\n\r\n`,
  ],
  "two requests": [`GET /health HTTP/1.1\r\n${HOST}\r\n\r\n`.repeat(2)],
  "one request after another": [
    `POST /read HTTP/1.1\r\n${length(3)}\r\n\r\nabc`,
    `GET /health HTTP/1.1\r\n${HOST}\r\n\r\n`,
  ],
  "an upgrade that is refused": [
    `GET / HTTP/1.1\r\n${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  ],
  garbage: ["\u0016\u0003\u0001 nobody speaks\r\nthis\r\n\r\n"],
};

/** Ways to send a body of one megabyte, and what its handler does before its late response. */
const LATE: Record<
  string,
  { readonly isChunked: boolean; readonly isRead: "first" | "slowly" | "last" | "never" }
> = {
  "read first": { isChunked: false, isRead: "first" },
  "read slowly": { isChunked: false, isRead: "slowly" },
  "read last": { isChunked: false, isRead: "last" },
  "never read": { isChunked: false, isRead: "never" },
  "of chunks, read first": { isChunked: true, isRead: "first" },
  "of chunks, read slowly": { isChunked: true, isRead: "slowly" },
  "of chunks, read last": { isChunked: true, isRead: "last" },
};

const LIMITS = { ...DEFAULT_FRONT_LIMITS, maxConnections: 10_000 };

// Nearly all of the time is spent waiting, so all cases run concurrently.
describe("connections", { concurrency: true }, () => {
  for (const [name, makeFront] of Object.entries(fronts)) connectionsOf(name, makeFront);
});

function connectionsOf(name: string, makeFront: (typeof fronts)[string]): void {
  describe(`connections of front ${name}`, { concurrency: true }, () => {
    let front: Front;
    let port = 0;
    const failures: unknown[] = [];

    before(async () => {
      front = makeFront(
        {
          request: answer,
          upgrade: async () => ({ type: "refuse", status: 401, headers: {}, body: "no" }),
          failed: (error) => failures.push(error),
        },
        LIMITS,
      );
      port = await front.listen("127.0.0.1", 0);
    });

    after(async () => {
      await front.close(100);
      assert.deepEqual(failures, []);
    });

    for (const [what, pieces] of Object.entries(SILENCES)) {
      test(`closes a silent client: ${what}`, async () => {
        const client = await Client.connect(port);
        for (const piece of pieces) {
          client.send(piece);
          await pace(50);
        }
        await client.closed();
      });
    }

    for (const [what, { isChunked, isRead }] of Object.entries(LATE)) {
      test(`answers a megabyte late: ${what}`, async () => {
        const bytes = randomBytes(1_000_000).toString("hex").slice(0, 1_000_000);
        const client = await Client.connect(port);
        const headers = isChunked ? CHUNKED : length(bytes.length);
        client.send(
          `POST /late/${isRead} HTTP/1.1\r\n${headers}\r\n\r\n${isChunked ? chunks(bytes) : bytes}`,
        );
        const expected = isRead === "never" ? "unread" : createHash("sha256").update(bytes).digest("hex");
        await client.received(expected);
        client.end();
      });
    }

    test("a late response to a body of one piece keeps the connection open", async () => {
      const ask = async (isRead: string) => {
        const client = await Client.connect(port);
        const text = "x".repeat(300_000);
        client.send(`POST /late/${isRead} HTTP/1.1\r\n${length(text.length)}\r\n\r\n${text}`);
        await client.received(createHash("sha256").update(text).digest("hex"));
        client.send(`GET /next HTTP/1.1\r\n${HOST}\r\n\r\n`);
        await client.received("/next");
        client.end();
      };
      await Promise.all([ask("slowly"), ask("last")]);
    });

    test("a client can read its response while still uploading", async () => {
      const client = await Client.connect(port);
      client.send(`POST /refused HTTP/1.1\r\n${length(6)}\r\n\r\nabc`);
      await client.received("/refused");
      client.send("def");
      if (name !== "node") {
        await client.closed();
        assert.match(client.text, /connection: close\r\n/i);
        assert.match(
          client.text,
          /^HTTP\/1.1 200 OK\r\n[\s\S]*content-length: 8\r\n[\s\S]*\r\n\r\n\/refused/i,
        );
      }
      client.end();
    });
  });

  test(`on front ${name} a burst of requests ends only its own connection`, async () => {
    let requestCount = 0;
    const front = makeFront(
      {
        request: (request, response) => {
          requestCount++;
          return answer(request, response);
        },
        upgrade: async () => {
          requestCount++;
          return { type: "refuse", status: 401, headers: {}, body: "no" };
        },
        failed: (error) => assert.fail(String(error)),
      },
      LIMITS,
    );
    const port = await front.listen("127.0.0.1", 0);
    try {
      const other = await Client.connect(port);
      // A threaded front answers no request within the same turn, so it processes one at a time.
      const few = name.includes("threads") ? 1 : PIPELINED_REQUESTS;
      const modest = await Client.connect(port);
      modest.send(`GET /few HTTP/1.1\r\n${HOST}\r\n\r\n`.repeat(few));
      await modest.received(...Array.from({ length: few }, () => "/few"));
      modest.end();
      const upgrade =
        `GET / HTTP/1.1\r\n${HOST}\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nConnection: ";
      const bursts = [
        `GET /health HTTP/1.1\r\n${HOST}\r\n\r\n`,
        `GET /late/never HTTP/1.1\r\n${HOST}\r\n\r\n`,
        `HEAD /health HTTP/1.1\r\n${HOST}\r\n\r\n`,
        `POST /health HTTP/1.1\r\n${length(3)}\r\n\r\nabc`,
        `GET /%ff HTTP/1.1\r\n${HOST}\r\n\r\n`,
        `${upgrade}Upgrade\r\n\r\n`,
        `${upgrade}keep-alive\r\n\r\n`,
      ];
      for (const request of bursts) {
        const client = await Client.connect(port);
        requestCount = 0;
        client.send(request.repeat(2_000));
        await client.closed();
        assert.ok(requestCount <= PIPELINED_REQUESTS, `${requestCount} requests reached the handler`);
        assert.ok(client.answers <= PIPELINED_REQUESTS, `${client.answers} were answered`);
        other.send(`GET /other HTTP/1.1\r\n${HOST}\r\n\r\n`);
        await other.received("/other");
      }
      other.end();
    } finally {
      await front.close(0);
    }
  });

  test(`front ${name} answers many simultaneous clients`, async () => {
    const front = makeFront(
      {
        request: answer,
        upgrade: async () => ({ type: "refuse", status: 401, headers: {}, body: "no" }),
        failed: (error) => assert.fail(String(error)),
      },
      LIMITS,
    );
    const port = await front.listen("127.0.0.1", 0);
    try {
      const ask = async () => {
        const client = await Client.connect(port);
        // The rounds run concurrently, because a connection that is silent for 10 s is closed.
        for (let round = 0; round < 3; round++) {
          client.send(`GET /at-once HTTP/1.1\r\n${HOST}\r\n\r\n`);
          await client.received("/at-once");
        }
        client.end();
      };
      await Promise.all(Array.from({ length: 200 }, ask));
    } finally {
      await front.close(0);
    }
  });
}

test("front node responds with 503 to connections beyond its limit, including WebSockets, until some close", async () => {
  const front = new NodeFront(
    {
      request: answer,
      upgrade: async () => ({
        type: "accept",
        protocol: null,
        headers: {},
        open: () => ({ text() {}, binary() {}, closed() {} }),
      }),
      failed: (error) => assert.fail(String(error)),
    },
    { ...LIMITS, maxConnections: 2 },
  );
  const port = await front.listen("127.0.0.1", 0);
  try {
    const first = await Client.connect(port);
    const socket = await Client.connect(port);
    socket.send(
      `GET / HTTP/1.1\r\n${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    await socket.received("101 Switching Protocols");
    for (let nth = 0; nth < 3; nth++) {
      const late = await Client.connect(port);
      late.send(`GET /late HTTP/1.1\r\n${HOST}\r\n\r\n`);
      await late.closed();
      assert.match(late.text, /^HTTP\/1\.1 503 [\s\S]*x-svc-error: engine_busy\r\nretry-after: \d+\r\n/);
      assert.match(late.text, /\{"detail":"[^"]*connections"\}$/);
    }
    first.send(`GET /first HTTP/1.1\r\n${HOST}\r\n\r\n`);
    await first.received("/first");
    socket.end();
    await eventually("another one is taken", async () => {
      const next = await Client.connect(port);
      next.send(`GET /next HTTP/1.1\r\n${HOST}\r\n\r\n`);
      const isTaken = await next.received("/next").then(
        () => true,
        () => false,
      );
      next.end();
      return isTaken;
    });
    first.end();
  } finally {
    await front.close(0);
  }
});

async function answer(request: FrontRequest, response: FrontResponse): Promise<void> {
  const { path } = request;
  if (path.startsWith("/late/")) return answerLate(request, response, path.slice("/late/".length));
  if (path === "/read") for await (const _ of request.body);
  response.start(path === "/none" ? 204 : 200, {});
  await response.end(path === "/none" ? undefined : Buffer.from(path));
}

async function answerLate(request: FrontRequest, response: FrontResponse, isRead: string): Promise<void> {
  const hash = createHash("sha256");
  const read = async () => {
    for await (const chunk of request.body) {
      hash.update(chunk);
      if (isRead === "slowly") await pace(50);
    }
  };
  if (isRead === "slowly") await pace(200);
  if (isRead === "first" || isRead === "slowly") await read();
  await Promise.race([pace(LATE_MS), once(request.signal, "abort")]);
  if (request.signal.aborted) return response.reset();
  if (isRead === "last") await read();
  response.start(200, {});
  await response.end(Buffer.from(isRead === "never" ? "unread" : hash.digest("hex")));
}
