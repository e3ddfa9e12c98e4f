// Clients that request long speech and do not read it must not fill the memory.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { SpeechBudget } from "../../src/http/running-work.js";
import { eventually } from "../support/eventually.js";
import * as fc from "../support/properties.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, startTransport } from "./running-transport.js";

function refused(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

test("speech counts by its estimate, then by its size, until it is released", () => {
  const budget = new SpeechBudget(100);
  const share = budget.take("a", 40);
  assert.equal(budget.takenBytes, 40);
  share.settle(30);
  assert.equal(budget.takenBytes, 30);
  const other = budget.take("b", 70);
  share.release();
  share.release();
  share.settle(50);
  assert.equal(budget.takenBytes, 70);
  other.release();
  assert.equal(budget.takenBytes, 0);
});

test("a lone response always fits; several share the budget, at most half for each organization", () => {
  const budget = new SpeechBudget(100);
  const first = budget.take("a", 500);
  assert.throws(() => budget.take("a", 1), refused("TOO_MANY_REQUESTS"));
  assert.throws(() => budget.take("b", 1), refused("ENGINE_BUSY"));
  first.settle(30);
  assert.throws(() => budget.take("a", 21), refused("TOO_MANY_REQUESTS"));
  const second = budget.take("a", 20);
  budget.take("b", 50).release();
  assert.throws(() => budget.take("b", 51), refused("ENGINE_BUSY"));
  first.release();
  second.release();
  assert.equal(budget.takenBytes, 0);
  budget.take("a", 500);
});

test("no share exceeds the budget or the size of one response", () => {
  const step = fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat({ max: 150 }), fc.nat({ max: 9 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new SpeechBudget(100);
      const shares: ReturnType<SpeechBudget["take"]>[] = [];
      for (const [organization, bytes, choice] of steps) {
        const before = budget.takenBytes;
        if (choice < 5) {
          try {
            shares.push(budget.take(organization, bytes));
            assert.ok(budget.takenBytes <= 100 || before === 0, `${budget.takenBytes} after ${before}`);
          } catch (error) {
            assert.ok(error instanceof ServiceError);
            assert.equal(budget.takenBytes, before, "a refusal takes nothing");
          }
        } else shares[choice % (shares.length || 1)]?.release();
      }
      for (const share of shares) share.release();
      assert.equal(budget.takenBytes, 0);
    }),
  );
});

const WAYS: readonly (readonly [path: string, bodyOf: (text: string) => object])[] = [
  ["/v1/tts", (text) => ({ text })],
  ["/v1/tts?timestamps=true", (text) => ({ text })],
  ["/v1/tts/stream", (text) => ({ text })],
  ["/v1/audio/speech", (input) => ({ input })],
  ["/v1/audio/speech", (input) => ({ input, response_format: "pcm", stream_format: "sse" })],
  ["/v1/speak", (text) => ({ text })],
];

for (const front of FRONTS) {
  test(`unread speech fills the budget on ${front} until its client leaves, with further requests rejected`, async () => {
    // A hundred seconds take 4.8 MB; the fake estimates 5 MB.
    const speechBudget = new SpeechBudget(6_000_000);
    const running = await startTransport(front, { speechBudget });
    const headers = { authorization: `Bearer ${GOOD_KEY}`, "content-type": "application/json" };
    const ask = (path: string, body: object) =>
      fetch(running.base + path, { method: "POST", headers, body: JSON.stringify(body) });
    try {
      const text = `long.${"long.".repeat(9)}`;
      for (const [path, bodyOf] of WAYS) {
        const body = JSON.stringify(bodyOf(text));
        const socket = connect(running.port, "127.0.0.1");
        socket.on("error", () => {});
        const head = [`POST ${path} HTTP/1.1`, "Host: a.test", `Authorization: Bearer ${GOOD_KEY}`];
        socket.write(
          `${[...head, "Content-Type: application/json", `Content-Length: ${body.length}`].join("\r\n")}\r\n\r\n${body}`,
        );
        await once(socket, "readable");
        running.conversations.charges.length = 0;
        for (const [other, otherBodyOf] of WAYS) {
          const answer = await ask(other, otherBodyOf("long"));
          const { detail } = (await answer.json()) as { detail: string };
          assert.deepEqual([answer.status, answer.headers.get("x-svc-error")], [429, "too_many_requests"]);
          assert.ok(Number(answer.headers.get("retry-after")) > 0);
          assert.match(detail, /may hold 3 MB of speech at once, received 5 MB more than \d+ MB/);
        }
        assert.deepEqual(running.conversations.charges, [], "nothing was charged");
        assert.ok(speechBudget.takenBytes >= 5_000_000);
        socket.destroy();
        await eventually("nothing is held", () => speechBudget.takenBytes === 0);
      }
      const failed = await ask("/v1/tts", { text: "long.fail" });
      assert.equal(failed.status, 503);
      await failed.arrayBuffer();
      // The client may receive the last byte a moment before the front reports that it was sent.
      await eventually("nothing is held by what has failed", () => speechBudget.takenBytes === 0);
      const whole = await ask("/v1/tts", { text: "long" });
      assert.equal((await whole.arrayBuffer()).byteLength, 4_800_044);
      await eventually("nothing is held by what was sent", () => speechBudget.takenBytes === 0);
    } finally {
      await running.stop();
    }
  });
}
