import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualTimers } from "./manual-timers.js";

test("a manual timer runs once when it is due, unless it was cleared", (t) => {
  const timers = ManualTimers.install(t);
  const ran: string[] = [];
  setTimeout(() => ran.push("late"), 20);
  setTimeout(() => ran.push("early"), 10);
  const cleared = setTimeout(() => ran.push("never"), 5);
  clearTimeout(cleared);
  timers.advance(9);
  assert.deepEqual(ran, []);
  timers.advance(100);
  assert.deepEqual(ran, ["early", "late"]);
  assert.equal(timers.pendingCount, 0);
});

test("a refreshed manual timer waits its whole delay again", (t) => {
  const timers = ManualTimers.install(t);
  let runs = 0;
  const timer = setTimeout(() => runs++, 10);
  timers.advance(9);
  timer.refresh();
  timers.advance(9);
  assert.equal(runs, 0);
  timers.advance(1);
  assert.equal(runs, 1);
});
