import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { Vocabularies } from "../../src/http/vocabularies.js";
import { ManualClock } from "../support/manual-clock.js";
import { MemoryVocabularies } from "../support/memory-vocabularies.js";
import { SILENT } from "../support/silent-log.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "./running-transport.js";

const AWAY = new ServiceError("AUTH_UNAVAILABLE", "away");
const written = (word: string) => ({ hotwords: [word], pronunciations: [] });

function cached() {
  const store = new MemoryVocabularies();
  const clock = new ManualClock();
  const vocabularies = new Vocabularies({ store, clock, log: SILENT });
  const wordOf = async (id: string) => (await vocabularies.of(id)).hotWords[0]?.text;
  return { store, clock, vocabularies, wordOf };
}

describe("vocabularies of requests", () => {
  test("are looked up once in 30 s, also by requests at the same time, and apart by organization", async () => {
    const { store, clock, wordOf } = cached();
    await store.replace("org_1", written("ана"));
    assert.deepEqual(await Promise.all([wordOf("org_1"), wordOf("org_1"), wordOf("org_2")]), [
      "ана",
      "ана",
      undefined,
    ]);
    assert.equal(store.lookUps, 2);
    await store.replace("org_1", written("ата"));
    clock.advance(29_999);
    assert.equal(await wordOf("org_1"), "ана");
    assert.equal(store.lookUps, 2);
    clock.advance(1);
    assert.equal(await wordOf("org_1"), "ата", "a change by another service applies after 30 s");
  });

  test("a change made here applies at once, even while an older look-up runs", async () => {
    const { store, vocabularies, wordOf } = cached();
    const older = wordOf("org_1");
    await vocabularies.replace("org_1", written("ана"));
    assert.equal(await older, undefined);
    assert.equal(await wordOf("org_1"), "ана");
    await vocabularies.replace("org_1", written("ата"));
    assert.equal(await wordOf("org_1"), "ата");
    assert.equal(store.lookUps, 3);
  });

  test("known words apply for their 30 s while the store is away; a failure is not cached", async () => {
    const { store, clock, vocabularies, wordOf } = cached();
    await vocabularies.replace("org_1", written("ана"));
    await wordOf("org_1");
    store.failure = AWAY;
    clock.advance(29_999);
    assert.equal(await wordOf("org_1"), "ана");
    clock.advance(1);
    await assert.rejects(wordOf("org_1"), AWAY);
    store.failure = null;
    assert.equal(await wordOf("org_1"), "ана");
  });

  test("words that a later version stored by other rules are left out", async () => {
    const { store, wordOf } = cached();
    await store.replace("org_1", written("а".repeat(61)));
    assert.equal(await wordOf("org_1"), undefined);
  });
});

for (const front of FRONTS) {
  describe(`a vocabulary on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;
    before(async () => {
      running = await startTransport(front);
    });
    after(() => running.stop());

    const ask = async (method: string, body?: string, key = GOOD_KEY, query = "") => {
      const answer = await fetch(`${running.base}/v1/vocabulary${query}`, {
        ...{ method, headers: { authorization: `Bearer ${key}` } },
        ...(body !== undefined && { body }),
      });
      const { headers, status } = answer;
      return { status, error: headers.get("x-svc-error"), headers, body: await answer.json() };
    };

    test("is empty at first, replaced as a whole, and returned as written", async () => {
      const first = await ask("GET");
      assert.deepEqual([first.status, first.headers.get("cache-control")], [200, "no-store"]);
      assert.deepEqual(first.body, { hotwords: [], pronunciations: [] });
      const words = { hotwords: ["Сәлем:2"], pronunciations: [{ word: "Kaspi", say: "каспи" }] };
      const put = await ask("PUT", JSON.stringify(words));
      assert.deepEqual([put.status, put.headers.get("cache-control"), put.body], [200, "no-store", words]);
      assert.deepEqual((await ask("GET")).body, words);
      const { body } = await ask("PUT", JSON.stringify({ hotwords: ["әлем"] }));
      assert.deepEqual(body, { hotwords: ["әлем"], pronunciations: [] });
      assert.deepEqual((await ask("GET")).body, body);
    });

    test("needs a key, a body by the rules, and the store", async () => {
      const stored = (await ask("GET")).body;
      for (const method of ["GET", "PUT"])
        assert.equal(
          (await ask(method, method === "PUT" ? "{}" : undefined, `sk-svc-${"ab".repeat(24)}`)).status,
          401,
        );
      for (const [sent, error] of [
        ["", "invalid_request"],
        ["[]", "invalid_request"],
        ['{"hotwords":["q"]}', "invalid_request"],
        ['{"hot_words":[]}', "unknown_parameter"],
      ] as const) {
        const refused = await ask("PUT", sent);
        assert.deepEqual([refused.status, refused.error], [400, error], sent);
      }
      assert.equal((await ask("PUT", "{}", GOOD_KEY, "?x=1")).error, "unknown_parameter");
      assert.equal((await ask("PUT", JSON.stringify({ hotwords: ["а".repeat(70_000)] }))).status, 413);
      assert.equal((await ask("POST", "{}")).status, 405);
      running.vocabularies.failure = AWAY;
      for (const method of ["GET", "PUT"])
        assert.equal((await ask(method, method === "PUT" ? "{}" : undefined)).status, 503);
      running.vocabularies.failure = null;
      assert.deepEqual((await ask("GET")).body, stored);
    });

    test("requests without work need no look-up", async () => {
      const before = running.vocabularies.lookUps;
      const headers = { authorization: `Bearer ${GOOD_KEY}` };
      await (await fetch(`${running.base}/v1/balance`, { headers })).arrayBuffer();
      assert.equal(running.vocabularies.lookUps, before);
    });
  });
}
