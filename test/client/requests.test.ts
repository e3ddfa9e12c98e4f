import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { writeWav } from "../../core/domain/audio/wav.js";
import { DauysClient as BrowserClient } from "../../src/client/browser.js";
import { ApiError, ConnectionError, DauysError, RequestTimeoutError } from "../../src/client/errors.js";
import { DauysClient } from "../../src/client/node.js";
import { eventually } from "../support/eventually.js";
import { momentOfFault, within } from "../support/pace.js";
import { encodeWavFrame } from "../support/wav-frames.js";
import { answerOf, type RawServer, startRawServer } from "./support.js";

const KEY = `sk-svc-${"0123456789ab".repeat(4)}`;
const HEALTH = answerOf(200, { "content-type": "application/json" }, '{"status":"ok","models":[]}');
const BUSY = answerOf(503, { "Retry-After": "0", "X-Svc-Error": "engine_busy" }, '{"detail":"busy"}');

// Both transports, node:http and fetch, must follow the same rules.
const CLIENTS = [
  { name: "node:http", Client: DauysClient },
  { name: "fetch", Client: BrowserClient },
];

async function serverFor(
  t: TestContext,
  onRequest: (socket: Socket, index: number) => void,
): Promise<RawServer> {
  const server = await startRawServer(onRequest);
  t.after(() => server.close());
  return server;
}

function keysIn(server: RawServer): (string | undefined)[] {
  return server.received
    .map((text) => /^idempotency-key: (\S+)/im.exec(text)?.[1])
    .filter((key) => key !== undefined);
}

for (const { name, Client } of CLIENTS) {
  test(`${name}: a missing response times out without leaving a connection`, async (t) => {
    const server = await serverFor(t, () => {});
    const client = new Client({ baseUrl: server.url, timeoutMs: 200, maxRetries: 0 });
    const refused = assert.rejects(client.health(), (error) => {
      assert.ok(error instanceof RequestTimeoutError && error.code === "timeout" && error.timeoutMs === 200);
      return true;
    });
    await within(60_000, "the client gives up", refused);
    await eventuallyNone(server);
  });

  test(`${name}: a response that stalls times out`, async (t) => {
    const server = await serverFor(t, (socket) => socket.write(HEALTH.slice(0, -5)));
    const client = new Client({ baseUrl: server.url, timeoutMs: 200 });
    await assert.rejects(client.health(), RequestTimeoutError);
    await eventuallyNone(server);
  });

  test(`${name}: a request to a busy service is retried, with the same key for billed work`, async (t) => {
    const wav = Buffer.from(writeWav(new Int16Array(24_000), 24_000)).toString("latin1");
    const server = await serverFor(t, (socket, index) => {
      if (index < 2) socket.write(BUSY);
      else socket.write(answerOfLatin1({ "X-Svc-Chars": "5", "X-Request-Id": "req_1" }, wav), "latin1");
    });
    const speech = await new Client({ baseUrl: server.url, apiKey: KEY }).speak({ text: "сәлем" });
    assert.deepEqual([speech.durationSeconds, speech.sampleRateHz], [1, 24_000]);
    assert.deepEqual(speech.usage, { requestId: "req_1", characters: 5, creditsCharged: null, model: null });
    const keys = keysIn(server);
    assert.equal(keys.length, 3);
    assert.equal(new Set(keys).size, 1);
  });

  test(`${name}: the caller's idempotency key is sent even without retries`, async (t) => {
    const text = '{"text":"сәлем"}';
    const server = await serverFor(t, (socket) =>
      socket.write(answerOf(200, { "Idempotent-Replayed": "true", "X-Request-Id": "req_2" }, text)),
    );
    const client = new Client({ baseUrl: server.url, apiKey: KEY, maxRetries: 0 });
    const own = { idempotencyKey: "talk-1" };
    const { request_id, is_replayed } = await client.transcribe(new Uint8Array(10), own);
    assert.deepEqual([request_id, is_replayed], ["req_2", true]);
    await client.transcribe(new Blob([new Uint8Array(10)]).stream(), own);
    await client.transcribe(new Uint8Array(10));
    assert.deepEqual(keysIn(server), ["talk-1", "talk-1"]);
  });

  test(`${name}: a retry waits for Retry-After`, async (t) => {
    const later = answerOf(
      429,
      { "Retry-After": "1", "X-Svc-Error": "too_many_requests" },
      '{"detail":"wait"}',
    );
    const server = await serverFor(t, (socket, index) => socket.write(index === 0 ? later : HEALTH));
    const startedAtMs = performance.now();
    assert.equal((await new Client({ baseUrl: server.url }).health()).status, "ok");
    assert.ok(performance.now() - startedAtMs >= 990);
  });

  test(`${name}: missing credits are reported in detail without a retry`, async (t) => {
    const headers = {
      "X-Svc-Error": "out_of_credits",
      "x-should-retry": "false",
      "X-Request-Id": "req_2",
      "Retry-After": "0",
    };
    const server = await serverFor(t, (socket) =>
      socket.write(answerOf(429, headers, '{"detail":"needs 2 credits, 0 left"}')),
    );
    await assert.rejects(new Client({ baseUrl: server.url, apiKey: KEY }).speak({ text: "а" }), (error) => {
      assert.ok(error instanceof ApiError && error instanceof DauysError);
      assert.deepEqual(
        [error.status, error.code, error.detail, error.requestId],
        [429, "out_of_credits", "needs 2 credits, 0 left", "req_2"],
      );
      return true;
    });
    assert.equal(server.received.filter((text) => text.startsWith("POST")).length, 1);
  });

  test(`${name}: a lost connection is retried, then reported`, async (t) => {
    const server = await serverFor(t, (socket) => socket.destroy());
    const client = new Client({ baseUrl: server.url, maxRetries: 1 });
    await assert.rejects(client.health(), ConnectionError);
    assert.ok(server.received.length >= 2);
  });

  test(`${name}: an abort during sending or before a retry rejects immediately with its reason`, async (t) => {
    const later = answerOf(503, { "Retry-After": "30" }, '{"detail":"later"}');
    const server = await serverFor(t, (socket, index) => index === 1 && socket.write(later));
    const client = new Client({ baseUrl: server.url });
    for (let call = 0; call < 2; call++) {
      const reason = new Error("changed my mind");
      const stop = new AbortController();
      const refused = assert.rejects(client.health({ signal: stop.signal }), (error) => error === reason);
      await eventually("the request is there", () => server.received.length > call);
      await momentOfFault(100);
      stop.abort(reason);
      await refused;
    }
    await assert.rejects(client.health({ signal: AbortSignal.abort(new Error("before")) }), /before/);
    assert.equal(server.received.length, 2);
  });

  test(`${name}: frames are read from chunks of any size; an end within a frame is an error`, async (t) => {
    const frames = [2_400, 1_200].map((samples) => encodeWavFrame(writeWav(new Int16Array(samples), 24_000)));
    const bytes = Buffer.concat(frames);
    const server = await serverFor(t, (socket, index) => {
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\nConnection: close\r\nX-Svc-Chars: 9\r\n\r\n`,
      );
      let sent = 0;
      const timer = setInterval(() => {
        if (sent >= bytes.length || (index === 1 && sent > frames[0]!.length + 100)) {
          clearInterval(timer);
          if (index === 1) socket.destroy();
          else socket.end();
        } else if (!socket.destroyed) {
          socket.write(bytes.subarray(sent, sent + 997));
          sent += 997;
        }
      }, 1);
      socket.on("close", () => clearInterval(timer));
    });
    const client = new Client({ baseUrl: server.url, apiKey: KEY });
    const heard: unknown[] = [];
    for await (const { sequence, startSeconds, durationSeconds, usage } of client.speakStream({
      text: "а",
    })) {
      heard.push([sequence, startSeconds, durationSeconds, usage.characters]);
    }
    assert.deepEqual(heard, [
      [0, 0, 0.1, 9],
      [1, 0.1, 0.05, 9],
    ]);
    let count = 0;
    await assert.rejects(async () => {
      for await (const _ of client.speakStream({ text: "а" })) count++;
    }, ConnectionError);
    assert.equal(count, 1);
    for await (const _ of client.speakStream({ text: "а" })) break;
    await eventuallyNone(server);
  });
}

test("an early rejection of an upload stops the sending", async (t) => {
  const server = await serverFor(t, (socket) =>
    socket.end(answerOf(401, { "X-Svc-Error": "key_invalid", Connection: "close" }, '{"detail":"no"}')),
  );
  const client = new DauysClient({ baseUrl: server.url, apiKey: KEY, maxRetries: 0 });
  const bytes = new Uint8Array(40_000_000);
  await assert.rejects(client.transcribe(bytes), (error) => {
    // The operating system may drop the response of a service that has closed the connection.
    assert.ok(
      error instanceof ApiError ? error.status === 401 : error instanceof ConnectionError,
      String(error),
    );
    return true;
  });
  assert.ok(server.received.join("").length < bytes.length);
});

test("a stream is sent once, without retries", async (t) => {
  const server = await serverFor(t, (socket) => socket.write(BUSY));
  const client = new DauysClient({ baseUrl: server.url, apiKey: KEY });
  await assert.rejects(client.transcribe(new Blob([new Uint8Array(10)]).stream()), ApiError);
  assert.equal(server.received.filter((text) => text.startsWith("POST")).length, 1);
  assert.deepEqual(keysIn(server), []);
});

test("an invalid address is rejected immediately", () => {
  assert.throws(() => new DauysClient({ baseUrl: "example.org" }), /must start with http/);
  assert.throws(() => new DauysClient({ baseUrl: "file:///etc" }), TypeError);
});

function answerOfLatin1(headers: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${lines.join("")}\r\n${body}`;
}

async function eventuallyNone(server: RawServer): Promise<void> {
  await eventually("no connection is left open", () => server.openConnections === 0);
}
