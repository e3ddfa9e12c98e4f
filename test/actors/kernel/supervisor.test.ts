import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChildEnd, type RestartPause, Supervisor } from "../../../core/kernel/supervisor.js";
import { type Deferred, deferred, settled } from "../../support/deferred.js";
import { FakeChild } from "../../support/fake-child.js";

const WINDOW_MS = 30_000;
const MAX_RESTARTS = 3;

/** A supervisor over fake children. Each start waits in `starts` until the test settles it. */
function supervised(
  changes: {
    readonly isExcused?: (end: ChildEnd) => boolean | Promise<boolean>;
    readonly pause?: RestartPause;
  } = {},
) {
  const starts: Deferred<FakeChild>[] = [];
  const log: string[] = [];
  const clock = { nowMs: 0 };
  const supervisor = new Supervisor<FakeChild>(
    {
      id: "fake",
      start: () => {
        const start = deferred<FakeChild>();
        starts.push(start);
        return start.promise;
      },
      limits: { maxRestarts: MAX_RESTARTS, windowMs: WINDOW_MS },
      ...changes,
      onUp: () => log.push("up"),
      onDown: (reason) => log.push(`down: ${reason.message}`),
      onGiveUp: (reason) => log.push(`gave up: ${reason.message}`),
    },
    () => clock.nowMs,
  );
  /** Settles the latest start with a child, and returns the child. */
  const comeUp = async (): Promise<FakeChild> => {
    const child = new FakeChild();
    starts.at(-1)!.resolve(child);
    await settled();
    return child;
  };
  const start = async (): Promise<FakeChild> => {
    const started = supervisor.start();
    const child = await comeUp();
    await started;
    return child;
  };
  const fail = async (child: FakeChild, message: string): Promise<void> => {
    child.fail(new Error(message));
    await settled();
  };
  return { supervisor, starts, log, clock, comeUp, start, fail };
}

test("start settles once the child is ready and has not been replaced", async () => {
  const { supervisor, log, start } = supervised();
  assert.equal(supervisor.child, null);
  const child = await start();
  assert.equal(supervisor.child, child);
  assert.deepEqual(log, ["up"]);
});

test("a failed first start is reported to the caller", async () => {
  const { supervisor, starts, log } = supervised();
  const started = supervisor.start();
  starts[0]!.reject(new Error("no model"));
  await assert.rejects(started, /no model/);
  await settled();
  assert.equal(starts.length, 1);
  assert.deepEqual(log, []);
});

test("a child that ends by itself is replaced", async () => {
  const { supervisor, log, start, fail, comeUp } = supervised();
  await fail(await start(), "heap");
  assert.equal(supervisor.child, null, "nobody serves while the next one starts");
  const second = await comeUp();
  assert.equal(supervisor.child, second);
  assert.deepEqual(log, ["up", "down: heap", "up"]);
});

test("the supervisor gives up, once, when the restart budget is spent", async () => {
  const { supervisor, starts, log, start, fail, comeUp } = supervised();
  let child = await start();
  for (let restart = 0; restart < MAX_RESTARTS; restart++) {
    await fail(child, `fault ${restart}`);
    child = await comeUp();
  }
  await fail(child, "the last straw");
  assert.equal(supervisor.child, null);
  assert.equal(starts.length, 1 + MAX_RESTARTS);
  assert.deepEqual(log.slice(-2), ["down: the last straw", "gave up: the last straw"]);
  await supervisor.stop();
  assert.equal(log.filter((line) => line.startsWith("gave up")).length, 1);
});

test("restarts outside the window are forgotten", async () => {
  const { supervisor, log, clock, start, fail, comeUp } = supervised();
  let child = await start();
  for (let restart = 0; restart < MAX_RESTARTS * 3; restart++) {
    clock.nowMs += WINDOW_MS / MAX_RESTARTS;
    await fail(child, "now and then");
    child = await comeUp();
  }
  assert.equal(supervisor.child, child);
  assert.ok(!log.some((line) => line.startsWith("gave up")));
});

test("an excused end does not use the budget", async () => {
  const { supervisor, log, clock, start, fail, comeUp } = supervised({
    isExcused: ({ servedMs }) => servedMs >= 500,
  });
  let child = await start();
  for (let restart = 0; restart < MAX_RESTARTS * 3; restart++) {
    clock.nowMs += 500;
    await fail(child, "once more");
    child = await comeUp();
  }
  assert.equal(supervisor.child, child);
  for (let restart = 0; restart < MAX_RESTARTS; restart++) {
    clock.nowMs += 499;
    await fail(child, "too soon");
    child = await comeUp();
  }
  await fail(child, "the last straw");
  assert.equal(log.at(-1), "gave up: the last straw");
});

test("starts that fail count against the same budget", async () => {
  const { starts, log, start, fail } = supervised();
  await fail(await start(), "heap");
  for (let attempt = 0; attempt < MAX_RESTARTS; attempt++) {
    starts.at(-1)!.reject(new Error(`broken file ${attempt}`));
    await settled();
  }
  assert.equal(starts.length, 1 + MAX_RESTARTS);
  assert.deepEqual(log, ["up", "down: heap", `gave up: broken file ${MAX_RESTARTS - 1}`]);
});

test("stop ends the child without a restart, even if called twice", async () => {
  const { supervisor, starts, log, start } = supervised();
  const child = await start();
  await Promise.all([supervisor.stop(), supervisor.stop()]);
  await supervisor.stop();
  await settled();
  assert.ok(child.stopCalls >= 1);
  assert.equal(supervisor.child, null);
  assert.equal(starts.length, 1);
  assert.deepEqual(log, ["up"]);
});

test("a child that fails while it is being stopped is not replaced", async () => {
  const { supervisor, starts, log, start } = supervised();
  const child = await start();
  child.fail(new Error("on the way out"));
  await supervisor.stop();
  await settled();
  assert.equal(starts.length, 1);
  assert.deepEqual(log, ["up"]);
});

test("stop during a restart waits for the new child to start and ends it without announcing it", async () => {
  const { supervisor, starts, log, start, fail, comeUp } = supervised();
  await fail(await start(), "heap");
  let isStopped = false;
  const stopping = supervisor.stop().then(() => {
    isStopped = true;
  });
  await settled();
  assert.equal(isStopped, false, "a thread that is starting must not be left behind");
  const late = await comeUp();
  await stopping;
  assert.equal(late.stopCalls, 1);
  assert.equal(supervisor.child, null);
  assert.equal(starts.length, 2);
  assert.deepEqual(log, ["up", "down: heap"]);
});

test("stop during a failing restart prevents further attempts", async () => {
  const { supervisor, starts, log, start, fail } = supervised();
  await fail(await start(), "heap");
  const stopping = supervisor.stop();
  starts.at(-1)!.reject(new Error("broken file"));
  await stopping;
  assert.equal(starts.length, 2);
  assert.deepEqual(log, ["up", "down: heap"]);
});

test("stop during the first start waits for the child and ends it without announcing it", async () => {
  const { supervisor, log, comeUp } = supervised();
  const starting = supervisor.start();
  const stopping = supervisor.stop();
  const late = await comeUp();
  await Promise.all([starting, stopping]);
  assert.equal(late.stopCalls, 1);
  assert.equal(supervisor.child, null);
  assert.deepEqual(log, []);
});

test("failed starts are excused by the same rule as ends", async () => {
  const asked: ChildEnd[] = [];
  const { supervisor, starts, log, clock, start, fail, comeUp } = supervised({
    isExcused: async (end) => {
      asked.push(end);
      return end.reason.message === "disk full";
    },
  });
  const child = await start();
  clock.nowMs += 40;
  await fail(child, "disk full");
  for (let attempt = 0; attempt < MAX_RESTARTS * 2; attempt++) {
    starts.at(-1)!.reject(new Error("disk full"));
    await settled();
  }
  const second = await comeUp();
  assert.equal(supervisor.child, second);
  assert.deepEqual(log, ["up", "down: disk full", "up"]);
  assert.deepEqual(
    asked.map(({ servedMs }) => servedMs),
    [40, ...new Array(MAX_RESTARTS * 2).fill(0)],
  );
});

test("pauses between restarts double, until a child has served a whole window", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { supervisor, starts, clock, start, fail, comeUp } = supervised({
    isExcused: () => true,
    pause: { firstMs: 100, longestMs: 300 },
  });
  let child = await start();
  for (const pauseMs of [0, 100, 200, 300, 300]) {
    const before = starts.length;
    await fail(child, "again");
    if (pauseMs > 0) {
      t.mock.timers.tick(pauseMs - 1);
      await settled();
      assert.equal(starts.length, before, `a restart before ${pauseMs} ms`);
    }
    t.mock.timers.tick(1);
    await settled();
    assert.equal(starts.length, before + 1, `no restart after ${pauseMs} ms`);
    child = await comeUp();
  }
  clock.nowMs += WINDOW_MS + 1;
  const before = starts.length;
  await fail(child, "once in a while");
  t.mock.timers.tick(1);
  await settled();
  assert.equal(starts.length, before + 1);
  await fail(await comeUp(), "on the way");
  await supervisor.stop();
  assert.equal(starts.length, before + 1, "stop ends the pause, and nothing comes after it");
});
