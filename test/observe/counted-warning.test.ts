import assert from "node:assert/strict";
import { test } from "node:test";
import { CountedWarning } from "../../core/observe/counted-warning.js";
import { createLog } from "../../core/observe/log.js";
import { ManualTimers } from "../support/manual-timers.js";

test("a warning logs at most one line a second, with the number of events since the last line", (t) => {
  const timers = ManualTimers.install(t);
  const counts: number[] = [];
  const write = (line: string) => {
    const { level, msg, count } = JSON.parse(line);
    assert.deepEqual([level, msg], [40, "message dropped"]);
    counts.push(count);
  };
  const warning = new CountedWarning(createLog({ level: "warn", destination: { write } }), "message dropped");
  const note = (times: number) => {
    for (let nth = 0; nth < times; nth++) warning.note();
  };
  note(1);
  assert.deepEqual(counts, [1], "the first is logged immediately");
  note(5);
  timers.advance(999);
  assert.deepEqual(counts, [1]);
  timers.advance(1);
  assert.deepEqual(counts, [1, 5]);
  timers.advance(500);
  note(2);
  timers.advance(500);
  assert.deepEqual(counts, [1, 5, 2]);
  timers.advance(5_000);
  assert.equal(timers.pendingCount, 0);
  note(3);
  assert.deepEqual(counts, [1, 5, 2, 1]);
  warning.close();
  assert.deepEqual(counts, [1, 5, 2, 1, 2], "the rest is logged at the end");
  assert.equal(timers.pendingCount, 0);
});
