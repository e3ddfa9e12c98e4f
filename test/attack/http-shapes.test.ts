import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { findUws } from "../../src/front/uws/load-binding.js";
import { eventually } from "../support/eventually.js";
import { within } from "../support/pace.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

/** The service keeps a quarter of these free, and needs about 50 itself. */
const OPEN_FILES = 256;
const CLOSED_WITHIN_MS = 40_000;
const PIPELINED_REQUESTS = 32;
const TRIES = 5;

/** Version of the library on which the fork is based. */
const FORK = "20.30.";
const FRONTS: Record<string, Readonly<Record<string, string>>> = {
  node: { FRONT: "node" },
  ...(findUws().binding !== null && {
    uws: { FRONT: "uws" },
    "uws in two threads": { FRONT: "uws", FRONT_THREADS: "2" },
  }),
};

/** An HTTP status, or `closed` if the connection was closed without a response. */
type Outcome = number | "closed";

const HOST = "Host: here.test";
const headers = (count: number) => Array.from({ length: count }, (_, nth) => `X-${nth}: v\r\n`).join("");
const get = (rest: string) => `GET ${rest}\r\n\r\n`;
const post = (rest: string, body: string) => `POST /v1/tts HTTP/1.1\r\n${HOST}\r\n${rest}\r\n\r\n${body}`;
const CHUNK = "3\r\nabc\r\n0\r\n\r\n";

/**
 * A request and its expected outcome. If the fork's library considers a request incomplete, it reports
 * nothing and closes the connection silently after 8 to 12 s. `current` is the response of the current
 * library.
 */
const SHAPES: Record<
  string,
  { readonly sent: string; readonly node: Outcome; readonly uws: Outcome; readonly current?: Outcome }
> = {
  "HTTP/1.0": { sent: get(`/health HTTP/1.0\r\n${HOST}`), node: 200, uws: "closed", current: 505 },
  "HTTP/1.2": { sent: get(`/health HTTP/1.2\r\n${HOST}`), node: 400, uws: "closed", current: 505 },
  "HTTP/2.0": { sent: get(`/health HTTP/2.0\r\n${HOST}`), node: 400, uws: "closed", current: 505 },
  "the preface of HTTP/2": {
    sent: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    node: 400,
    uws: "closed",
    current: 505,
  },
  "no version": { sent: get("/health"), node: 400, uws: "closed", current: 505 },
  "no Host and no header": { sent: get("/health HTTP/1.1"), node: 400, uws: "closed", current: 400 },
  "no Host": { sent: get("/health HTTP/1.1\r\nAccept: */*"), node: 400, uws: "closed", current: 400 },
  "two Hosts": { sent: get(`/health HTTP/1.1\r\n${HOST}\r\nHost: there.test`), node: 400, uws: 400 },
  "absolute form": {
    sent: `GET http://here.test/health HTTP/1.1\r\n${HOST}\r\nConnection: close\r\n\r\n`,
    node: 200,
    uws: "closed",
    current: 505,
  },
  "OPTIONS *": {
    sent: `OPTIONS * HTTP/1.1\r\n${HOST}\r\nConnection: close\r\n\r\n`,
    node: 404,
    uws: "closed",
    current: 505,
  },
  CONNECT: {
    sent: `CONNECT here.test:80 HTTP/1.1\r\n${HOST}\r\n\r\n`,
    node: "closed",
    uws: "closed",
    current: 505,
  },
  "an unknown method": {
    sent: `MAKE /health HTTP/1.1\r\n${HOST}\r\n\r\n`,
    node: 400,
    uws: "closed",
    current: 405,
  },
  "45 headers": {
    sent: `GET /health HTTP/1.1\r\n${HOST}\r\nConnection: close\r\n${headers(43)}\r\n`,
    node: 200,
    uws: 200,
  },
  "50 headers": {
    sent: `GET /health HTTP/1.1\r\n${HOST}\r\nConnection: close\r\n${headers(48)}\r\n`,
    node: 200,
    uws: "closed",
    current: 200,
  },
  "3,000 headers": {
    sent: `GET /health HTTP/1.1\r\n${HOST}\r\n${headers(3_000)}\r\n`,
    node: 431,
    uws: "closed",
    current: 431,
  },
  "a space in the path": {
    sent: get(`/he alth HTTP/1.1\r\n${HOST}`),
    node: 400,
    uws: "closed",
    current: 505,
  },
  "a header without a colon": {
    sent: get(`/health HTTP/1.1\r\n${HOST}\r\nnothing`),
    node: 400,
    uws: "closed",
    current: 400,
  },
  "a folded header": {
    sent: get(`/health HTTP/1.1\r\n${HOST}\r\nX: a\r\n b`),
    node: 400,
    uws: "closed",
    current: 400,
  },
  "NUL in a header": {
    sent: get(`/health HTTP/1.1\r\n${HOST}\r\nX: a\u0000b`),
    node: 400,
    uws: "closed",
    current: 400,
  },
  "a handshake of TLS": {
    sent: "\u0016\u0003\u0001\u0002\u0000\r\n\r\n",
    node: 400,
    uws: "closed",
    current: 505,
  },
  "a word": { sent: "hello\r\n\r\n", node: 400, uws: "closed" },
  "half a head": { sent: "GET /hea", node: 408, uws: "closed" },
  nothing: { sent: "", node: 408, uws: "closed" },
  "a path that does not decode": { sent: get(`/%ff HTTP/1.1\r\n${HOST}`), node: 400, uws: 400 },
  "two lengths": { sent: post("Content-Length: 3\r\nContent-Length: 4", "abc"), node: 400, uws: 400 },
  "a negative length": { sent: post("Content-Length: -1", ""), node: 400, uws: "closed", current: 400 },
  "an endless length": {
    sent: post("Content-Length: 99999999999999999999", "abc"),
    node: 400,
    uws: "closed",
    current: 400,
  },
  "a length and chunks": {
    sent: post("Content-Length: 3\r\nTransfer-Encoding: chunked", CHUNK),
    node: 400,
    uws: "closed",
    current: 400,
  },
  "gzip, chunked": { sent: post("Transfer-Encoding: gzip, chunked", CHUNK), node: 400, uws: 400 },
  xchunked: { sent: post("Transfer-Encoding: xchunked", CHUNK), node: 400, uws: 400 },
  identity: { sent: post("Transfer-Encoding: identity", "abc"), node: 400, uws: 400 },
  "two codings": {
    sent: post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", CHUNK),
    node: 400,
    uws: 400,
  },
  "a chunk without a length": {
    sent: post("Transfer-Encoding: chunked", "zz\r\nabc\r\n"),
    node: 400,
    uws: "closed",
    current: 400,
  },
};

// Run these concurrently, because the services mostly wait for silent clients.
describe("shapes of HTTP", { concurrency: true }, () => {
  for (const [name, environment] of Object.entries(FRONTS)) {
    describe(`at the front ${name}`, { concurrency: 1 }, () => {
      let service: ServiceProcess;

      before(async () => {
        service = await startServiceProcess(
          { ...environment, MODEL_PRELOAD: "false" },
          { openFiles: OPEN_FILES },
        );
      });

      after(async () => {
        assert.equal(await service.stop(), 0, service.output());
      });

      test("the connection of an invalid request always closes, with or without a response", async () => {
        const outcomes = await Promise.all(
          Object.entries(SHAPES).map(async ([what, { sent }]) => [
            what,
            (await exchange(service.port, sent)).outcome,
          ]),
        );
        const expected = Object.entries(SHAPES).map(([what, shape]) => [
          what,
          environment["FRONT"] === "node" ? shape.node : ofNative(shape),
        ]);
        assert.deepEqual(Object.fromEntries(outcomes), Object.fromEntries(expected));
        assert.equal(await statusOf(service), 200);
      });

      test("a burst of requests ends only its own connection", async () => {
        for (const path of ["/health", "/v1/nothing", "/v1/voices"]) {
          const other = await open(service.port);
          const { text, outcome } = await exchange(
            service.port,
            get(`${path} HTTP/1.1\r\n${HOST}`).repeat(3_000),
          );
          assert.notEqual(outcome, "open");
          const answers = text.match(/HTTP\/1\.1 /g)?.length ?? 0;
          assert.ok(answers <= PIPELINED_REQUESTS, `${answers} requests for ${path} were answered`);
          assert.equal(await askOn(other), 200);
          other.destroy();
        }
      });

      test("connections beyond the open file limit are rejected until there is room again", async () => {
        for (let tries = 1; !(await isServedWhileFull(service)); tries++)
          assert.ok(tries < TRIES, service.output());
      });
    });
  }
});

function ofNative({ uws, current = uws }: (typeof SHAPES)[string]): Outcome {
  const found = findUws();
  return found.binding !== null && found.version.startsWith(FORK) ? uws : current;
}

/**
 * Returns true if clients below the limit stayed connected and served while new ones were rejected. A front
 * closes clients that are silent for 8 to 12 s, so none stays connected if the machine stalls for that long.
 */
async function isServedWhileFull(service: ServiceProcess): Promise<boolean> {
  const first = await open(service.port);
  const clients = await Promise.all(
    Array.from({ length: 2 * OPEN_FILES }, () => open(service.port).catch(() => null)),
  );
  // A rejected client is closed, but the others stay connected.
  const held = () =>
    clients.filter((client) => client !== null && !client.destroyed && !client.readableEnded);
  const areHeld = () => held().length > OPEN_FILES / 4;
  await eventually("the ones too many are gone", () => held().length < OPEN_FILES);
  await eventually("new ones are not taken", async () => !areHeld() || (await isRefused(service.port)));
  const isServed = areHeld() && (await askOn(first)) === 200;
  for (const client of clients) client?.destroy();
  await eventually("new ones are taken again", async () => (await statusOf(service)) === 200);
  const isServedYet = (await askOn(first)) === 200;
  first.destroy();
  return isServed && isServedYet;
}

async function isRefused(port: number): Promise<boolean> {
  const late = await open(port).catch(() => null);
  if (late === null) return true;
  const answer = await askOn(late);
  late.destroy();
  return answer === "closed" || answer === 503;
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      // Some connections are reset.
      socket.on("error", () => {});
      socket.resume();
      resolve(socket);
    });
  });
}

/** Requests /health on an open connection. */
async function askOn(socket: Socket): Promise<Outcome> {
  const answered = nextStatus(socket);
  socket.write(`GET /health HTTP/1.1\r\n${HOST}\r\n\r\n`);
  return answered;
}

function nextStatus(socket: Socket): Promise<Outcome> {
  return new Promise((resolve) => {
    let text = "";
    const settle = (outcome: Outcome) => {
      socket.off("data", onData);
      socket.off("close", onClose);
      resolve(outcome);
    };
    const onData = (bytes: Buffer) => {
      text += bytes.toString("latin1");
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
      if (status !== undefined) settle(Number(status));
    };
    const onClose = () => settle("closed");
    socket.on("data", onData);
    socket.on("close", onClose);
    if (socket.destroyed) settle("closed");
  });
}

interface Exchanged {
  readonly text: string;
  /** Outcome of the first response; `open` if the other side kept the connection open. */
  readonly outcome: Outcome | "open";
}

/** Sends a text and returns everything that arrives until the other side closes. */
async function exchange(port: number, text: string): Promise<Exchanged> {
  const socket = await open(port);
  const received: string[] = [];
  socket.on("data", (bytes) => received.push(bytes.toString("latin1")));
  const closed = new Promise<boolean>((resolve) => socket.once("close", () => resolve(true)));
  const status = nextStatus(socket);
  socket.write(text, "latin1");
  const isClosed = await within(CLOSED_WITHIN_MS, "the end", closed).catch(() => false);
  socket.destroy();
  return { text: received.join(""), outcome: isClosed ? await status : "open" };
}

async function statusOf(service: ServiceProcess): Promise<number | null> {
  return fetch(`${service.url}/health`, { headers: { connection: "close" } }).then(
    (answer) => answer.status,
    () => null,
  );
}
