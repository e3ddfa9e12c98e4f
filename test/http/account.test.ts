import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { PolledReports } from "../../src/http/endpoints/account.js";
import { ManualClock } from "../support/manual-clock.js";
import { FakeReports, GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "./running-transport.js";

const PERIOD = { from: "2026-11-01", to: "2026-11-02" };

for (const front of FRONTS) {
  describe(`an account on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;
    before(async () => {
      running = await startTransport(front);
    });
    after(() => running.stop());

    const get = async (path: string, key = GOOD_KEY) => {
      const answer = await fetch(running.base + path, { headers: { authorization: `Bearer ${key}` } });
      return { status: answer.status, headers: answer.headers, body: await answer.json() };
    };

    test("a key can read its organization's credits", async () => {
      const { status, headers, body } = await get("/v1/balance");
      assert.deepEqual([status, headers.get("cache-control")], [200, "no-store"]);
      assert.deepEqual(body, { balance: 24_990, held: 15, available: 24_975, tier: "free" });
      assert.equal(running.reports.asked.at(-1), "org_1");
    });

    test("a key can read its organization's usage with units", async () => {
      const { status, body } = await get("/v1/usage?from=2026-11-01&to=2026-11-02");
      assert.equal(status, 200);
      const synthesis = { kind: "synthesis", endpoint: "/v1/tts", requests: 2, quantity: 25, credits: 10 };
      const live = { kind: "live", endpoint: null, requests: 1, quantity: 1.5, credits: 9 };
      assert.deepEqual(body, {
        ...PERIOD,
        data: [
          { day: PERIOD.from, ...synthesis, unit: "characters" },
          { day: PERIOD.to, ...live, unit: "seconds" },
        ],
      });
    });

    test("the default period is the last thirty days, including today", async () => {
      const today = () => new Date().toISOString().slice(0, 10);
      const before = today();
      const { body } = await get("/v1/usage");
      const { from, to } = body as typeof PERIOD;
      assert.equal((Date.parse(to) - Date.parse(from)) / 86_400_000, 29);
      // The date may change between the two reads.
      assert.ok([before, today()].includes(to), to);
      const early = await get("/v1/usage?to=2026-03-01");
      assert.equal((early.body as typeof PERIOD).from, "2026-01-31");
    });

    for (const [query, rule] of [
      ["from=2026-02-30", /from must be a day such as 2026-11-21, received "2026-02-30"/],
      ["to=today", /to must be a day/],
      ["from=2026-11-03&to=2026-11-02", /from must not be later than to/],
      ["from=2025-01-01&to=2026-11-02", /must cover at most 366 days, received 671/],
      ["form=2026-11-01", /did you mean "from"/],
      ["from=2026-11-01&from=2026-11-02", /from must be given once/],
    ] as const) {
      test(`a period is rejected: ${query}`, async () => {
        const { status, body } = await get(`/v1/usage?${query}`);
        assert.equal(status, 400);
        assert.match((body as { detail: string }).detail, rule);
      });
    }

    test("reports need a key and the store", async () => {
      const asked = running.reports.asked.length;
      for (const path of ["/v1/balance", "/v1/usage"])
        assert.equal((await get(path, `sk-svc-${"ab".repeat(24)}`)).status, 401);
      assert.equal(running.reports.asked.length, asked);
      running.reports.next = Promise.reject(new ServiceError("AUTH_UNAVAILABLE", "away"));
      running.reports.next.catch(() => {});
      const away = await get("/v1/usage?from=2026-10-01&to=2026-10-02");
      assert.deepEqual([away.status, away.headers.get("retry-after")], [503, "2"]);
      running.reports.next = Promise.resolve();
    });
  });
}

describe("reports of clients that poll", () => {
  test("the balance is queried at most once a second and usage once in ten seconds, except after a failure", async () => {
    const reports = new FakeReports();
    const clock = new ManualClock();
    const polled = new PolledReports(reports, clock);
    await Promise.all([polled.credits("a"), polled.credits("a"), polled.usage("a", PERIOD)]);
    clock.advance(999);
    await Promise.all([polled.credits("a"), polled.usage("a", PERIOD), polled.credits("b")]);
    const period = "a 2026-11-01 2026-11-02";
    assert.deepEqual(reports.asked.splice(0), ["a", period, "b"]);
    clock.advance(1);
    await Promise.all([polled.credits("a"), polled.usage("a", PERIOD)]);
    clock.advance(9_000);
    reports.next = Promise.reject(new Error("away"));
    await assert.rejects(polled.usage("a", PERIOD), /away/);
    reports.next = Promise.resolve();
    await polled.usage("a", PERIOD);
    assert.deepEqual(reports.asked, ["a", period, period]);
  });

  test("an organization may query ten periods at once, then one a second, without delaying others", async () => {
    const reports = new FakeReports();
    const clock = new ManualClock();
    const polled = new PolledReports(reports, clock);
    const ask = (organization: string, day: number) =>
      polled.usage(organization, { from: "2026-11-01", to: `2026-11-${10 + day}` });
    for (let day = 0; day < 10; day++) await ask("a", day);
    const tooMany = (error: unknown) => error instanceof ServiceError && error.code === "TOO_MANY_REQUESTS";
    await assert.rejects(ask("a", 10), tooMany);
    await ask("a", 9);
    await ask("b", 10);
    clock.advance(1_000);
    await ask("a", 10);
    await assert.rejects(ask("a", 11), tooMany);
  });
});
