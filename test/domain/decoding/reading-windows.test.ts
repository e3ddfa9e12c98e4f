import assert from "node:assert/strict";
import { test } from "node:test";
import { fullWindows, windowOf } from "../../../core/domain/decoding/reading-windows.js";

const WINDOWS = { strideSamples: 24, overlapSamples: 16 };

test("windows start a stride apart and share an overlap", () => {
  assert.deepEqual(windowOf(WINDOWS, 0), { start: 0, end: 40 });
  assert.deepEqual(windowOf(WINDOWS, 2), { start: 48, end: 88 });
});

test("an utterance that fills no window is read whole", () => {
  for (const samples of [0, 1, 16, 39, 40]) assert.equal(fullWindows(WINDOWS, samples), 0, `${samples}`);
});

test("the rest of any longer utterance is longer than an overlap, and at most a window", () => {
  for (let samples = 41; samples < 400; samples++) {
    const count = fullWindows(WINDOWS, samples);
    assert.ok(count >= 1);
    assert.ok(windowOf(WINDOWS, count - 1).end < samples, `${samples}: the last window is full`);
    assert.ok(windowOf(WINDOWS, count).end >= samples, `${samples}: no further window is`);
    const rest = samples - windowOf(WINDOWS, count).start;
    assert.ok(rest > WINDOWS.overlapSamples && rest <= WINDOWS.overlapSamples + WINDOWS.strideSamples);
  }
});
