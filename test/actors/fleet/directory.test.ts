import assert from "node:assert/strict";
import { test } from "node:test";
import { type Beat, encodeBeat } from "../../../actors/fleet/beats.js";
import { FleetDirectory } from "../../../actors/fleet/directory.js";
import { BEATS_OF_LIVE } from "../../../actors/fleet/subjects.js";
import { InProcessHub } from "../../../src/bus/in-process-bus.js";
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
    beat: async (changes: Partial<Beat> = {}) => {
      const beat = {
        ...{ node: "n", cell: "c", zone: "a", model: "m", manifest: "h", protocol: { least: 1, most: 1 } },
        ...{ capacity: 10, used: 0, isDraining: false },
        ...changes,
      };
      bus.publish(BEATS_OF_LIVE, encodeBeat(beat));
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
    /** Puts a lane on a node. Returns what it is told, and how it leaves. */
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

test("a node is there from its first beat until it has been silent for too long", async () => {
  const { lane, beat, pass, chosen } = fleet();
  assert.equal(chosen(), null);
  await beat();
  const { told } = await lane();
  pass(LOST_MS - LOOK_MS);
  await beat();
  pass(LOST_MS - LOOK_MS);
  assert.deepEqual([chosen(), told], ["n", []]);
  pass(LOOK_MS);
  assert.deepEqual([chosen(), told], [null, ["silent"]]);
  await beat();
  assert.equal(chosen(), "n");
});

test("a process that was held up itself does not take its nodes for lost", async () => {
  const { beat, sleepThrough, pass, chosen } = fleet();
  await beat();
  sleepThrough(20_000);
  assert.equal(chosen(), "n");
  await beat();
  pass(LOST_MS - LOOK_MS);
  assert.equal(chosen(), "n");
});

test("a node that drains takes no lane, and says so with each beat while it has one", async () => {
  const { lane, beat, chosen } = fleet();
  await beat();
  const { told, leave } = await lane();
  await beat({ isDraining: true });
  await beat({ isDraining: true });
  assert.deepEqual([chosen(), told], [null, ["draining", "draining"]]);
  leave();
  await beat({ isDraining: true });
  assert.equal(told.length, 2);
});

test("a node that has refused is asked again after its next beat, one that is gone too", async () => {
  const { directory, beat, chosen } = fleet();
  await beat();
  directory.passBy("n");
  assert.equal(chosen(), null);
  await beat();
  assert.equal(chosen(), "n");
  directory.forget("n");
  assert.equal(chosen(), null);
  await beat();
  assert.equal(chosen(), "n");
});

test("a front with a lane on one node takes the other for the next, also when both are taken at once", async () => {
  const { lane, beat, chosen } = fleet();
  const both = Promise.all([lane(), lane()]);
  await beat();
  await beat({ node: "m", used: 9 });
  await beat({ node: "n" });
  const [one, other] = await both;
  // Both waited for the first node that there was.
  assert.deepEqual([one.node, other.node], ["n", "n"]);
  assert.equal(chosen(), "m");
  const more = await Promise.all([lane(), lane(), lane()]);
  assert.deepEqual(more.map(({ node }) => node).toSorted(), ["m", "m", "n"]);
  for (const { leave } of [one, other, ...more]) leave();
  assert.equal(chosen(), "n");
});

test("who waits for a node gets it with its first beat, or the reason for which the waiting ends", async () => {
  const { directory, beat } = fleet();
  const controller = new AbortController();
  const watcher = { silent: () => undefined, draining: () => undefined, heard: () => undefined };
  const waiting = directory.take(WANTED, watcher, () => 0, controller.signal);
  await beat({ model: "other" });
  await beat();
  assert.equal((await waiting).node, "n");
  await beat({ isDraining: true });
  const late = directory.take(WANTED, watcher, () => 0, controller.signal);
  controller.abort(new Error("the service stops"));
  await assert.rejects(late, /the service stops/);
});

test("a lane that has a place elsewhere counts no more on the node that it leaves, which it still hears of", async () => {
  const { directory, lane, beat, pass, chosen } = fleet();
  await beat();
  const one = await lane();
  await lane();
  await beat({ node: "m" });
  assert.ok(directory.isBetterElsewhere(WANTED, one));
  assert.equal(chosen(), "m");
  one.vacate();
  one.vacate();
  assert.ok(!directory.isBetterElsewhere(WANTED, one));
  pass(LOST_MS);
  assert.deepEqual(one.told, ["silent"]);
});

test("a lane is told of every node that is heard, and speaks the latest version that its own knows", async () => {
  const { directory, beat } = fleet();
  let heard = 0;
  const watcher = { silent: () => undefined, draining: () => undefined, heard: () => void heard++ };
  await beat({ protocol: { least: 1, most: 3 } });
  const wanted = { ...WANTED, protocol: { least: 2, most: 7 } };
  const place = directory.takeNow(wanted, watcher, () => 0);
  assert.equal(place?.version, 3);
  await beat({ node: "m" });
  assert.equal(heard, 1);
  place.leave();
  await beat({ node: "m" });
  assert.equal(heard, 1);
});

test("a node is full by its own word", async () => {
  const { directory, beat } = fleet();
  assert.ok(!directory.isFull("n"));
  await beat({ capacity: 2, used: 1 });
  assert.ok(!directory.isFull("n"));
  await beat({ capacity: 2, used: 2 });
  assert.ok(directory.isFull("n"));
});
