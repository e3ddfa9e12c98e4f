import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServiceError } from "../../../core/domain/errors.js";
import { TooManyAtOnce } from "../../../src/store/ledger/hold-changes.js";
import { Places } from "../../../src/store/ledger/places.js";
import { ManualClock } from "../../support/manual-clock.js";

/** Tries that find no place, each as long as the database takes; returns how many, and the refusal. */
async function triesFor(places: Places, clock: ManualClock, askedMs: number) {
  let tries = 0;
  const taken = places.take({ kind: "live", limit: { atOnce: 4, over: [] } }, async () => {
    tries++;
    clock.advance(askedMs);
    throw new TooManyAtOnce("live", 4);
  });
  const { code } = await taken.then(
    () => assert.fail("there is no place"),
    (error: ServiceError) => error,
  );
  return { tries, code };
}

test("a place is waited for by five tries, and by fewer where the database is slow, so that the refusal is in time", async () => {
  const clock = new ManualClock();
  const places = new Places(clock);
  assert.deepEqual(await triesFor(places, clock, 1), { tries: 5, code: "TOO_MANY_REQUESTS" });
  assert.deepEqual(await triesFor(places, clock, 260), { tries: 2, code: "TOO_MANY_REQUESTS" });
  assert.deepEqual(await triesFor(places, clock, 600), { tries: 1, code: "TOO_MANY_REQUESTS" });
});

test("what goes wrong otherwise is told at once", async () => {
  const places = new Places(new ManualClock());
  let tries = 0;
  const away = new Error("the database is away");
  const taken = places.take({ kind: "live" }, async () => {
    tries++;
    throw away;
  });
  await assert.rejects(taken, away);
  assert.equal(tries, 1);
});
