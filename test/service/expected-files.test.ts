import assert from "node:assert/strict";
import { test } from "node:test";
import { expectFiles } from "../../src/service/expected-files.js";
import { ManualClock } from "../support/manual-clock.js";

/** An engine that counts the files that it expects. */
function counting() {
  const engine = {
    expected: 0,
    expectFile() {
      engine.expected++;
      let isOver = false;
      return () => {
        if (!isOver) engine.expected--;
        isOver = true;
      };
    },
  };
  return engine;
}

test("every loaded engine expects a file until its request is over", () => {
  const engines = [counting(), counting()];
  const expectFile = expectFiles(() => engines, new ManualClock());
  const leaving = [expectFile(), expectFile()];
  assert.deepEqual(
    engines.map(({ expected }) => expected),
    [2, 2],
  );
  for (const leave of leaving) leave(true);
  assert.deepEqual(
    engines.map(({ expected }) => expected),
    [0, 0],
  );
});

test("a slow upload is expected only for a quarter of a second", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const engine = counting();
  const leave = expectFiles(() => [engine], new ManualClock())();
  t.mock.timers.tick(249);
  assert.equal(engine.expected, 1);
  t.mock.timers.tick(1);
  assert.equal(engine.expected, 0);
  leave(true);
  assert.equal(engine.expected, 0);
});

test("after an upload that failed, none is expected for a second", () => {
  const [engine, clock] = [counting(), new ManualClock()];
  const expectFile = expectFiles(() => [engine], clock);
  expectFile()(false);
  clock.advance(999);
  const leave = expectFile();
  assert.equal(engine.expected, 0);
  leave(false);
  clock.advance(1);
  assert.equal(engine.expected, 0, "the ignored one is not held against the next");
  expectFile();
  assert.equal(engine.expected, 1);
});
