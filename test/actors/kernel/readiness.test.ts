import assert from "node:assert/strict";
import { test } from "node:test";
import { settlesWithin, whenReady } from "../../../core/kernel/readiness.js";
import { deferred, settled } from "../../support/deferred.js";

/** A start whose outcome the test decides. */
function starting() {
  const ended = deferred<Error | null>();
  const words: { ready: (value: number) => void; failed: (reason: Error) => void } = {
    ready: () => {},
    failed: () => {},
  };
  const log: string[] = [];
  const start = whenReady<number>({
    ended: ended.promise,
    withinMs: 1_000,
    listen: (ready, failed) => {
      words.ready = ready;
      words.failed = failed;
    },
    giveUp: () => {
      log.push("gave up");
      return new Error("too late");
    },
  });
  return { start, ended, words, log };
}

test("once a child is ready, neither its end nor the deadline fails the start", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { start, ended, words, log } = starting();
  words.ready(7);
  ended.resolve(new Error("heap"));
  assert.equal(await start, 7);
  t.mock.timers.tick(1_000);
  assert.deepEqual(log, []);
});

test("the caller gets a child's own start failure", async () => {
  const { start, words, log } = starting();
  words.failed(new Error("broken model"));
  words.ready(7);
  await assert.rejects(start, /broken model/);
  assert.deepEqual(log, []);
});

test("a child that ends before it is ready fails with the reason of its end", async () => {
  const { start, ended } = starting();
  ended.resolve(new Error("heap"));
  await assert.rejects(start, /heap/);
  const stopped = starting();
  stopped.ended.resolve(null);
  await assert.rejects(stopped.start, /stopped before it was ready/);
});

test("gives up the child once at the deadline", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { start, words, log } = starting();
  t.mock.timers.tick(999);
  await settled();
  assert.deepEqual(log, []);
  t.mock.timers.tick(1);
  await assert.rejects(start, /too late/);
  words.ready(7);
  assert.deepEqual(log, ["gave up"]);
});

test("settlesWithin distinguishes work that settles, either way, from work that does not", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  assert.equal(await settlesWithin(Promise.resolve(1), 10), true);
  assert.equal(await settlesWithin(Promise.reject(new Error("badly")), 10), true);
  const never = settlesWithin(new Promise(() => {}), 10);
  t.mock.timers.tick(10);
  assert.equal(await never, false);
});
