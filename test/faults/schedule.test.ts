import assert from "node:assert/strict";
import { test } from "node:test";
import { FAULT_KINDS, FAULTS, scheduleOf } from "./schedule.js";

const ONE_OF_EACH = FAULT_KINDS.reduce((sum, kind) => sum + FAULTS[kind].weight, 0);

test("the same seed gives the same faults, and another seed gives other faults", () => {
  assert.deepEqual(scheduleOf(5, 40), scheduleOf(5, 40));
  assert.deepEqual(scheduleOf(5, 40).slice(0, 10), scheduleOf(5, 10));
  assert.notDeepEqual(scheduleOf(5, 40), scheduleOf(6, 40));
});

test("every kind occurs as often as its weight says before any kind returns", () => {
  const kinds = scheduleOf(9, 2 * ONE_OF_EACH).map(({ kind }) => kind);
  for (const from of [0, ONE_OF_EACH]) {
    const part = kinds.slice(from, from + ONE_OF_EACH);
    for (const kind of FAULT_KINDS) {
      const times = part.filter((other) => other === kind).length;
      assert.equal(times, FAULTS[kind].weight, kind);
    }
  }
});

test("faults hit existing targets, and every target is hit in time", () => {
  const schedule = scheduleOf(11, 40 * ONE_OF_EACH);
  for (const kind of FAULT_KINDS) {
    const targets = new Set(schedule.filter((fault) => fault.kind === kind).map(({ target }) => target));
    assert.deepEqual([...targets].toSorted(), [0, 1, 2].slice(0, FAULTS[kind].targets), kind);
  }
});

test("only the given kinds are drawn", () => {
  const kinds = new Set(scheduleOf(3, 30, ["engine killed", "disk full"]).map(({ kind }) => kind));
  assert.deepEqual(kinds, new Set(["engine killed", "disk full"]));
  assert.throws(() => scheduleOf(3, 30, []), /at least one kind/);
});
