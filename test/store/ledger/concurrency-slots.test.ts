import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServiceError } from "../../../core/domain/errors.js";
import { ConcurrencySlots } from "../../../src/store/ledger/concurrency-slots.js";
import { TooManyAtOnce } from "../../../src/store/ledger/hold-changes.js";
import { ManualClock } from "../../support/manual-clock.js";

/** Counts the tries that find no free slot, each of which takes `askedMs`, until the request is rejected. */
async function triesFor(slots: ConcurrencySlots, clock: ManualClock, askedMs: number) {
  let tries = 0;
  const taken = slots.acquire({ kind: "live", limit: { atOnce: 4, over: [] } }, async () => {
    tries++;
    clock.advance(askedMs);
    throw new TooManyAtOnce("live", 4);
  });
  const { code } = await taken.then(
    () => assert.fail("there is a free slot"),
    (error: ServiceError) => error,
  );
  return { tries, code };
}

test("acquiring a slot takes at most five tries within the deadline of a rejection", async () => {
  const clock = new ManualClock();
  const slots = new ConcurrencySlots(clock);
  assert.deepEqual(await triesFor(slots, clock, 1), { tries: 5, code: "TOO_MANY_REQUESTS" });
  assert.deepEqual(await triesFor(slots, clock, 260), { tries: 2, code: "TOO_MANY_REQUESTS" });
  assert.deepEqual(await triesFor(slots, clock, 600), { tries: 1, code: "TOO_MANY_REQUESTS" });
});

test("other errors are reported immediately", async () => {
  const slots = new ConcurrencySlots(new ManualClock());
  let tries = 0;
  const away = new Error("the database is away");
  const taken = slots.acquire({ kind: "live" }, async () => {
    tries++;
    throw away;
  });
  await assert.rejects(taken, away);
  assert.equal(tries, 1);
});
