import assert from "node:assert/strict";
import { test } from "node:test";
import { FleetDirectory } from "../../../actors/fleet/directory.js";
import { encodeHeartbeat, type Heartbeat } from "../../../actors/fleet/heartbeats.js";
import { LIVE_HEARTBEATS } from "../../../actors/fleet/subjects.js";
import { InProcessHub } from "../../support/in-process-bus.js";
import { ManualClock } from "../../support/manual-clock.js";
import { SILENT } from "../../support/silent-log.js";

const WANTED = { cell: "c", zone: "a", model: "m", manifest: "h", protocol: { least: 1, most: 1 } };
const LOST_MS = 1_600;
const LOOK_MS = LOST_MS / 8;
const NEVER = new AbortController().signal;

function fleet() {
  const hub = new InProcessHub((error) => {
    throw error;
  });
  const bus = hub.connect();
  const clock = new ManualClock();
  let look = () => {};
  const repeat = (act: () => void) => {
    look = act;
    return () => {
      look = () => {};
    };
  };
  const directory = new FleetDirectory({ bus, lostMs: LOST_MS, clock, log: SILENT, repeat });
  return {
    directory,
    heartbeat: async (changes: Partial<Heartbeat> = {}) => {
      const heartbeat = {
        ...{ node: "n", cell: "c", zone: "a", model: "m", manifest: "h", protocol: { least: 1, most: 1 } },
        ...{ capacity: 10, used: 0, isDraining: false },
        ...changes,
      };
      bus.publish(LIVE_HEARTBEATS, encodeHeartbeat(heartbeat));
      await bus.flush();
    },
    pass: (ms: number) => {
      for (let passed = 0; passed < ms; passed += LOOK_MS) {
        clock.advance(LOOK_MS);
        look();
      }
    },
    sleepThrough: (ms: number) => {
      clock.advance(ms);
      look();
    },
    /** Places a lane on a node. Returns the messages that it gets, and a function that ends it. */
    lane: async () => {
      const told: string[] = [];
      const watcher = {
        silent: () => told.push("silent"),
        draining: () => told.push("draining"),
        heard: () => undefined,
      };
      return { told, ...(await directory.take(WANTED, watcher, () => 0, NEVER)) };
    },
    chosen: () => directory.place(WANTED, () => 0)?.node ?? null,
  };
}

test("a node is listed from its first heartbeat until its heartbeats time out", async () => {
  const { lane, heartbeat, pass, chosen } = fleet();
  assert.equal(chosen(), null);
  await heartbeat();
  const { told } = await lane();
  pass(LOST_MS - LOOK_MS);
  await heartbeat();
  pass(LOST_MS - LOOK_MS);
  assert.deepEqual([chosen(), told], ["n", []]);
  pass(LOOK_MS);
  assert.deepEqual([chosen(), told], [null, ["silent"]]);
  await heartbeat();
  assert.equal(chosen(), "n");
});

test("a process whose own event loop was blocked does not consider its nodes lost", async () => {
  const { heartbeat, sleepThrough, pass, chosen } = fleet();
  await heartbeat();
  sleepThrough(20_000);
  assert.equal(chosen(), "n");
  await heartbeat();
  pass(LOST_MS - LOOK_MS);
  assert.equal(chosen(), "n");
});

test("a draining node accepts no lane and reports draining until its last lane ends", async () => {
  const { lane, heartbeat, chosen } = fleet();
  await heartbeat();
  const { told, leave } = await lane();
  await heartbeat({ isDraining: true });
  await heartbeat({ isDraining: true });
  assert.deepEqual([chosen(), told], [null, ["draining", "draining"]]);
  leave();
  await heartbeat({ isDraining: true });
  assert.equal(told.length, 2);
});

test("a node that rejected a lane or left is tried again after its next heartbeat", async () => {
  const { directory, heartbeat, chosen } = fleet();
  await heartbeat();
  directory.avoid("n");
  assert.equal(chosen(), null);
  await heartbeat();
  assert.equal(chosen(), "n");
  directory.forget("n");
  assert.equal(chosen(), null);
  await heartbeat();
  assert.equal(chosen(), "n");
});

test("a front puts its second lane on another node, even when both are placed at the same time", async () => {
  const { lane, heartbeat, chosen } = fleet();
  const both = Promise.all([lane(), lane()]);
  await heartbeat();
  await heartbeat({ node: "m", used: 9 });
  await heartbeat({ node: "n" });
  const [one, other] = await both;
  // Both lanes waited for the first node.
  assert.deepEqual([one.node, other.node], ["n", "n"]);
  assert.equal(chosen(), "m");
  const more = await Promise.all([lane(), lane(), lane()]);
  assert.deepEqual(more.map(({ node }) => node).toSorted(), ["m", "m", "n"]);
  for (const { leave } of [one, other, ...more]) leave();
  assert.equal(chosen(), "n");
});

test("a waiting lane gets a node with the node's first heartbeat, or the reason why its wait ended", async () => {
  const { directory, heartbeat } = fleet();
  const controller = new AbortController();
  const watcher = { silent: () => undefined, draining: () => undefined, heard: () => undefined };
  const waiting = directory.take(WANTED, watcher, () => 0, controller.signal);
  await heartbeat({ model: "other" });
  await heartbeat();
  assert.equal((await waiting).node, "n");
  await heartbeat({ isDraining: true });
  const late = directory.take(WANTED, watcher, () => 0, controller.signal);
  controller.abort(new Error("the service stops"));
  await assert.rejects(late, /the service stops/);
});

test("a moving lane no longer counts on the node that it leaves, but still watches it", async () => {
  const { directory, lane, heartbeat, pass, chosen } = fleet();
  await heartbeat();
  const one = await lane();
  await lane();
  await heartbeat({ node: "m" });
  assert.ok(directory.isBetterElsewhere(WANTED, one));
  assert.equal(chosen(), "m");
  one.vacate();
  one.vacate();
  assert.ok(!directory.isBetterElsewhere(WANTED, one));
  pass(LOST_MS);
  assert.deepEqual(one.told, ["silent"]);
});

test("a lane uses the latest version that its node's heartbeats report", async () => {
  const { directory, heartbeat } = fleet();
  let heard = 0;
  const watcher = { silent: () => undefined, draining: () => undefined, heard: () => void heard++ };
  await heartbeat({ protocol: { least: 1, most: 3 } });
  const wanted = { ...WANTED, protocol: { least: 2, most: 7 } };
  const place = directory.takeNow(wanted, watcher, () => 0);
  assert.equal(place?.version, 3);
  await heartbeat({ node: "m" });
  assert.equal(heard, 1);
  place.leave();
  await heartbeat({ node: "m" });
  assert.equal(heard, 1);
});

test("a node is full when its heartbeat says so", async () => {
  const { directory, heartbeat } = fleet();
  assert.ok(!directory.isFull("n"));
  await heartbeat({ capacity: 2, used: 1 });
  assert.ok(!directory.isFull("n"));
  await heartbeat({ capacity: 2, used: 2 });
  assert.ok(directory.isFull("n"));
});
