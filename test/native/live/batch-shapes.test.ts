import assert from "node:assert/strict";
import { test } from "node:test";
import { batchRows } from "../../../native/live/batch-shapes.js";

/** Returns the smallest batch for `count` sessions. */
function batchFor(count: number, sizes: readonly number[]): number {
  return sizes.find((size) => size >= count)!;
}

test("batches on a core have few rows without a session", () => {
  const sizes = batchRows(64, false);
  assert.equal(sizes.at(-1), 64);
  for (let count = 1; count <= 64; count++) {
    const padding = batchFor(count, sizes) - count;
    assert.ok(count <= 16 ? padding === 0 : padding <= batchFor(count, sizes) / 10, `${count} sessions`);
  }
});

test("providers that prepare kernels for each shape get few shapes", () => {
  const sizes = batchRows(256, true);
  assert.ok(sizes.length <= 16);
  assert.deepEqual([sizes[0], sizes.at(-1)], [1, 256]);
});
