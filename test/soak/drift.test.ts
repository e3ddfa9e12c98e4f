import assert from "node:assert/strict";
import { test } from "node:test";
import { uniform } from "../support/seed.js";
import { driftsOf } from "./drift.js";
import { QUANTITIES, type Quantity, type Reading } from "./readings.js";

const COUNT = 240;
const WARM = COUNT / 4;

/** Returns readings every ten seconds, with this resident memory and everything else at 10. */
function readings(residentMib: (nth: number) => number): Reading[] {
  const rest = Object.fromEntries((Object.keys(QUANTITIES) as Quantity[]).map((name) => [name, 10]));
  return Array.from({ length: COUNT }, (_, nth) => ({
    ...(rest as Record<Quantity, number>),
    seconds: nth * 10,
    round: nth,
    residentMib: residentMib(nth),
  }));
}

function memoryOf(all: readonly Reading[]) {
  return driftsOf(all).find(({ quantity }) => quantity === "residentMib")!;
}

test("a leak of 8 % over the run is found among noise, outliers and a warm-up", () => {
  const noise = uniform(1);
  const drift = memoryOf(
    readings((nth) => {
      if (nth < WARM) return 100 + nth;
      const leak = (8 * (nth - WARM)) / (COUNT - WARM);
      return 400 * (1 + leak / 100) + 6 * noise() + (nth % 17 === 0 ? 300 : 0);
    }),
  );
  assert.ok(drift.isLeak);
  assert.ok(Math.abs(drift.share - 0.077) < 0.01, `drift ${drift.share}`);
  assert.ok(drift.interval[0] <= drift.share && drift.share <= drift.interval[1]);
});

test("warm-up, noise and a leak below the limit pass", () => {
  const noise = uniform(2);
  const flat = memoryOf(readings((nth) => (nth < WARM ? 100 : 400 + 200 * noise())));
  assert.equal(flat.isLeak, false);
  const slow = memoryOf(readings((nth) => 400 + (16 * nth) / COUNT));
  assert.equal(slow.isLeak, false);
  assert.ok(slow.share > 0.02 && slow.share < 0.05, `drift ${slow.share}`);
});

test("shrinking memory does not count as a leak", () => {
  assert.equal(memoryOf(readings((nth) => 400 - nth)).isLeak, false);
});

test("files that accumulate from zero count as a leak", () => {
  const all = readings(() => 400).map((reading, nth) => ({ ...reading, spooled: nth > 160 ? nth - 160 : 0 }));
  const spooled = driftsOf(all).find(({ quantity }) => quantity === "spooled")!;
  assert.equal(spooled.median, 0);
  assert.ok(spooled.isLeak);
});

test("constant readings have no drift", () => {
  for (const { share, isLeak } of driftsOf(readings(() => 400))) {
    assert.equal(share, 0);
    assert.equal(isLeak, false);
  }
});

test("a run that is too short is rejected", () => {
  assert.throws(() => driftsOf(readings(() => 400).slice(0, 8)), /at least 11 readings, received 8/);
});
