import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { ServiceError } from "../../core/domain/errors.js";
import type { WorkKind } from "../../core/domain/usage/concurrency.js";
import { OrganizationSlots } from "../../src/http/running-work.js";
import { deferred } from "../support/deferred.js";
import { eventually } from "../support/eventually.js";
import { pace } from "../support/pace.js";
import * as fc from "../support/properties.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "./running-transport.js";

const HEADERS = { authorization: `Bearer ${GOOD_KEY}` };

test("slots are counted like a list of running work, however often they are released", () => {
  const kinds: WorkKind[] = ["synthesis", "files", "live"];
  const limits = { synthesis: 3, files: 1, live: 2 };
  const step = fc.record({
    organization: fc.constantFrom("org_a", "org_b"),
    kind: fc.constantFrom(...kinds),
    releases: fc.option(fc.nat(9)),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const slots = new OrganizationSlots(() => limits);
      const running: { readonly name: string; isOver: boolean; readonly release: () => void }[] = [];
      for (const { organization, kind, releases } of steps) {
        const released = releases === null ? undefined : running[releases];
        released?.release();
        if (released !== undefined) released.isOver = true;
        const name = organization + kind;
        const isFull = running.filter((work) => work.name === name && !work.isOver).length >= limits[kind];
        const take = () => slots.take({ keyId: "key_1", organizationId: organization, tier: "paid" }, kind);
        if (isFull)
          assert.throws(take, (error) => error instanceof ServiceError && /at most \d/.test(error.message));
        else running.push({ name, isOver: false, release: take() });
      }
    }),
  );
});

test("several slots are taken and released together, or none", () => {
  const slots = new OrganizationSlots(() => ({ synthesis: 1, files: 1, live: 4 }));
  const identity = { keyId: "key_1", organizationId: "org_a", tier: "paid" } as const;
  const release = slots.take(identity, "live", 3);
  const rule = "an organization may have at most 4 live sessions at once";
  assert.throws(() => slots.take(identity, "live", 2), {
    message: `${rule}: wait until one has ended`,
  });
  slots.take(identity, "live")();
  release();
  release();
  slots.take(identity, "live", 4)();
  assert.throws(() => slots.check(identity, "live", 8), {
    message: `${rule}: each of the 8 channels counts as one`,
  });
});

for (const front of FRONTS) {
  describe(`concurrency on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;

    before(async () => {
      running = await startTransport(front, { limitsOf: () => ({ synthesis: 2, files: 1, live: 1 }) });
    });
    after(() => running.stop());

    const speak = (text: string) =>
      fetch(`${running.base}/v1/tts/stream`, {
        method: "POST",
        headers: HEADERS,
        body: JSON.stringify({ text }),
      });
    const transcribe = () =>
      fetch(`${running.base}/v1/transcribe`, { method: "POST", headers: HEADERS, body: "x" });

    test("a request above the limit is rejected until another has ended", async () => {
      const pause = deferred<void>();
      running.conversations.pause = pause.promise;
      const first = await Promise.all([speak("one.slow"), speak("one.slow")]);
      const refused = await speak("a");
      assert.equal(refused.status, 429);
      assert.equal(refused.headers.get("x-svc-error"), "too_many_requests");
      assert.equal(refused.headers.get("retry-after"), "1");
      assert.equal(refused.headers.get("x-should-retry"), null);
      assert.match(((await refused.json()) as { detail: string }).detail, /at most 2 synthesis requests/);
      assert.equal((await transcribe()).status, 200, "kinds are counted apart");
      pause.resolve();
      running.conversations.pause = null;
      await Promise.all(first.map((answer) => answer.arrayBuffer()));
      const again = await speak("a");
      assert.equal(again.status, 200);
      await again.arrayBuffer();
    });

    test("a failed request and a client that left release their slots", async () => {
      for (let i = 0; i < 4; i++) assert.equal((await speak("")).status, 400);
      const abort = new AbortController();
      const leaving = fetch(`${running.base}/v1/tts/stream`, {
        method: "POST",
        headers: HEADERS,
        body: JSON.stringify({ text: `one.${"slow.".repeat(20)}` }),
        signal: abort.signal,
      });
      await leaving;
      abort.abort();
      await eventually("both have room", async () => {
        const answers = await Promise.all([speak("a"), speak("b")]);
        await Promise.all(answers.map((answer) => answer.arrayBuffer()));
        return answers.every((answer) => answer.status === 200);
      });
    });

    test("a live session above the limit is rejected, before the upgrade or on its socket", async () => {
      const url = `ws://127.0.0.1:${running.port}/v1/stream`;
      const socket = new WebSocket(url, { headers: HEADERS });
      await once(socket, "open");
      const refused = new WebSocket(url, { headers: HEADERS });
      const [, answer] = await once(refused, "unexpected-response");
      assert.equal(answer.statusCode, 429);
      assert.equal(answer.headers["retry-after"], "1");
      const browser = new WebSocket(url, ["svc-bearer", GOOD_KEY]);
      const [[told], [code]] = await Promise.all([once(browser, "message"), once(browser, "close")]);
      assert.equal((JSON.parse(String(told)) as { code: string }).code, "too_many_requests");
      assert.equal(code, 4429);
      socket.terminate();
      await eventually("a session is taken", async () => {
        const next = new WebSocket(url, ["svc-bearer", GOOD_KEY]);
        const outcome = await Promise.race([once(next, "message"), once(next, "open").then(() => pace(30))]);
        next.terminate();
        return outcome === undefined;
      });
    });
  });
}
