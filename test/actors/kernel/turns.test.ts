import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { Turns } from "../../../core/kernel/turns.js";

test("each iteration of the event loop runs one waiting slice, in order of arrival", async () => {
  const turns = new Turns();
  const worked: string[] = [];
  const inSlices = async (name: string) => {
    for (let slice = 0; slice < 3; slice++) {
      await turns.next();
      worked.push(name);
    }
  };
  const all = Promise.all(["a", "b", "c"].map(inSlices));
  for (let round = 0; worked.length < 9; round++) {
    assert.ok(round < 100, "everybody has a turn");
    const before = worked.length;
    await nextRound();
    assert.ok(worked.length - before <= 1, `one a round, not ${worked.slice(before)}`);
  }
  await all;
  assert.deepEqual(worked, ["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
});
