import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_PART_BYTES } from "../../../actors/fleet/call-messages.js";
import { FileBytes } from "../../../actors/fleet/file-items.js";

const BEFORE = 8;
const memory = new Uint8Array(64).map((_, index) => index).subarray(BEFORE, 32);

test("a node gets exactly the bytes that it requests", async () => {
  const bytes = new FileBytes([{ memory }]);
  assert.deepEqual([...(await bytes.read(0, 2, 3))], [10, 11, 12]);
  assert.equal((await bytes.read(0, 0, memory.length)).length, memory.length);
});

test("rejects reads outside the file's memory or larger than a message", async () => {
  const bytes = new FileBytes([{ memory }, { memory: new Uint8Array(2 * MAX_PART_BYTES) }]);
  const refused = [
    [0, -1, 2],
    [0, 0, -1],
    [0, memory.length, 1],
    [0, 0.5, 1],
    [0, 0, Number.NaN],
    [1, 0, MAX_PART_BYTES + 1],
    [2, 0, 1],
  ] as const;
  for (const [item, start, count] of refused)
    await assert.rejects(bytes.read(item, start, count), RangeError, `${item} ${start} ${count}`);
});
