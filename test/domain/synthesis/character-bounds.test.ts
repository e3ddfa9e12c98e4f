import assert from "node:assert/strict";
import { test } from "node:test";
import { characterBounds } from "../../../core/domain/synthesis/character-bounds.js";

const HOP = 256;

test("each character starts at the end of the previous one, after the start mark", () => {
  const trim = { start: 0, stop: 20, silentFramesBefore: 0, silentFramesAfter: 0 };
  const bounds = characterBounds(Int32Array.of(4, 3, 0, 6, 7), trim, HOP);
  assert.deepEqual(
    [...bounds],
    [4, 7, 7, 13].map((frame) => frame * HOP),
  );
});

test("counts added silence but not trimmed frames", () => {
  const durations = Int32Array.of(4, 3, 6, 7);
  const cut = { start: 3, stop: 12, silentFramesBefore: 0, silentFramesAfter: 4 };
  assert.deepEqual(
    [...characterBounds(durations, cut, HOP)],
    [1, 4, 9].map((frame) => frame * HOP),
  );
  const padded = { start: 5, stop: 20, silentFramesBefore: 2, silentFramesAfter: 0 };
  assert.deepEqual(
    [...characterBounds(durations, padded, HOP)],
    [2, 4, 10].map((frame) => frame * HOP),
  );
});
