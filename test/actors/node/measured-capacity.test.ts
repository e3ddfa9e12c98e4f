import assert from "node:assert/strict";
import { test } from "node:test";
import { MeasuredCapacity } from "../../../actors/node/measured-capacity.js";

/** A worker with room for 100 sessions that has reported a load of `share` every second for 20 s. */
function busy(share: number) {
  const capacity = new MeasuredCapacity(100);
  for (let second = 0; second <= 20; second++) capacity.report(1_000 * share, 1_000 * second);
  return (sessions: number, afterMs = 0) => capacity.of(sessions, 20_000 + afterMs);
}

test("a worker accepts the configured number of sessions as long as its load allows", () => {
  assert.equal(new MeasuredCapacity(100).of(90, 0), 100);
  assert.equal(busy(0.5)(90), 100);
  assert.equal(busy(0)(90), 100);
});

test("a busy worker accepts sessions up to a load of 0.8", () => {
  assert.equal(busy(0.8)(60), 60);
  assert.ok(Math.abs(busy(0.7)(60) - 68) <= 1);
  assert.ok(Math.abs(busy(1)(50) - 40) <= 1);
  // A share above 1 counts as 1.
  assert.equal(busy(3)(50), busy(1)(50));
});

test("old reports and reports of few sessions do not limit capacity", () => {
  assert.equal(busy(1)(24), 100);
  assert.equal(busy(1)(25) < 25, true);
  assert.equal(busy(1)(50, 10_001), 100);
});

test("a report after a long silence replaces earlier ones", () => {
  const capacity = new MeasuredCapacity(100);
  for (let second = 0; second <= 20; second++) capacity.report(1_000, 1_000 * second);
  capacity.report(1_000, 40_000);
  assert.equal(capacity.of(50, 40_000), 100);
});
