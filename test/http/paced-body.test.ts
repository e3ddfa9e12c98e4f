// A slow sender would keep a request, and its memory, open for hours: bodies have a minimum pace.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { JSON_PACE, paced } from "../../src/http/read-body.js";
import { pace } from "../support/pace.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, startTransport } from "./running-transport.js";

const PACE = { leastBytesPerS: 1_000, graceMs: 600, stallMs: 5_000, longestMs: 60_000 };

const PATIENT = { ...PACE, graceMs: 60_000, stallMs: 60_000 };

/** A client that sends chunks of these sizes, and stalls after the last one. */
function client(chunks: readonly number[], pauseMs: number, ends: boolean) {
  let isReturned = false;
  async function* send(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (const bytes of chunks) {
        if (pauseMs > 0) await pace(pauseMs);
        yield new Uint8Array(bytes);
      }
      if (!ends) await new Promise(() => {});
    } finally {
      isReturned = true;
    }
  }
  return { body: send(), isReturned: () => isReturned };
}

async function bytesOf(body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.length;
  return bytes;
}

function isTooSlow(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "BODY_TOO_SLOW";
}

test("a body that keeps its pace passes unchanged", async () => {
  assert.equal(await bytesOf(paced(client([400, 0, 300, 5], 20, true).body, PATIENT)), 705);
});

test("a slow or stalled client is disconnected", async () => {
  await assert.rejects(bytesOf(paced(client(Array(1_000).fill(1), 50, true).body, PACE)), isTooSlow);
  const stalling = { ...PACE, stallMs: 300 };
  await assert.rejects(bytesOf(paced(client([1_000_000], 1, false).body, stalling)), isTooSlow);
});

test("a fast body also has a deadline", async () => {
  const short = { ...PACE, longestMs: 500 };
  await assert.rejects(bytesOf(paced(client(Array(1_000).fill(10_000), 20, true).body, short)), isTooSlow);
});

test("a slow reader does not count against the client; a reader that stops ends the source", async () => {
  const { body, isReturned } = client([1, 1, 1, 1], 0, true);
  let count = 0;
  for await (const _ of paced(body, { ...PACE, graceMs: 300, stallMs: 300 })) {
    await pace(400);
    if (++count === 2) break;
  }
  assert.equal(count, 2);
  assert.ok(isReturned());
});

for (const front of FRONTS) {
  test(`a slow JSON body gets 408 and ends its connection on ${front}`, async () => {
    const running = await startTransport(front);
    try {
      const socket = connect(running.port, "127.0.0.1");
      let answer = "";
      socket.setEncoding("utf8").on("data", (text: string) => {
        answer += text;
      });
      // A client that continues to write may get a reset after its response. `once` would report the reset as
      // a failure.
      socket.on("error", () => {});
      const closed = new Promise((resolve) => socket.once("close", resolve));
      const head = ["POST /v1/tts HTTP/1.1", "Host: a.test", `Authorization: Bearer ${GOOD_KEY}`];
      socket.write(
        `${[...head, "Content-Type: application/json", "Content-Length: 1000"].join("\r\n")}\r\n\r\n{`,
      );
      const trickle = setInterval(() => socket.write(" "), JSON_PACE.graceMs / 8);
      await closed.finally(() => clearInterval(trickle));
      assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/);
      assert.match(answer, /\r\nx-svc-error: body_too_slow\r\n/i);
      assert.match(answer, /\r\nconnection: close\r\n/i);
      assert.match(
        answer,
        /\{"detail":"the body must arrive at 512 bytes per second or more[^"]*received \d+ bytes/,
      );
    } finally {
      await running.stop();
    }
  });
}
