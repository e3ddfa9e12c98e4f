import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageBudget } from "../../../src/front/shared/live-messages.js";
import { FloodWatch, WATCHED_BURST } from "../../../src/front/shared/rate-limits.js";

const FLOODER = "192.0.2.1";

test("an address has a smaller budget for a minute after its last flood", () => {
  let nowMs = 0;
  const watch = new FloodWatch({ nowMs: () => nowMs });
  assert.equal(watch.burstShare(FLOODER), 1);
  watch.flooded(FLOODER);
  assert.equal(watch.burstShare(FLOODER), WATCHED_BURST);
  assert.equal(watch.burstShare("192.0.2.2"), 1);
  nowMs = 50_000;
  watch.flooded(FLOODER);
  nowMs = 109_999;
  assert.equal(watch.burstShare(FLOODER), WATCHED_BURST);
  nowMs = 110_000;
  assert.equal(watch.burstShare(FLOODER), 1);
});

test("remembers the latest of many flooding addresses", () => {
  const watch = new FloodWatch({ nowMs: () => 0 });
  for (let nth = 0; nth <= 10_000; nth++) watch.flooded(`flooder ${nth}`);
  assert.equal(watch.burstShare("flooder 0"), 1);
  assert.equal(watch.burstShare("flooder 1"), WATCHED_BURST);
  assert.equal(watch.burstShare("flooder 10000"), WATCHED_BURST);
});

test("speech in the smallest common messages is not delayed at a watched address", () => {
  let nowMs = 0;
  const budget = new MessageBudget(() => nowMs, WATCHED_BURST);
  // Each message is 2 ms of audio.
  for (; nowMs < 60_000; nowMs += 2) assert.equal(budget.binary(64), "take");
});
