import assert from "node:assert/strict";
import { closeSync, openSync, statSync } from "node:fs";
import { test } from "node:test";
import {
  connectionsWithin,
  countDescriptors,
  descriptorLimit,
  openDescriptors,
} from "../../../src/front/shared/descriptors.js";
import { UwsGate } from "../../../src/front/uws/uws-gate.js";
import { eventually } from "../../support/eventually.js";
import { pace, stays } from "../../support/pace.js";

const skip = openDescriptors() === null && "descriptors are not counted here";
const MAX_CONNECTIONS = 100;

test("the gate closes at too many descriptors and retries until it can open", {
  skip,
}, async () => {
  const told: string[] = [];
  const failures: string[] = [];
  let triesToOpen = 0;
  const gate = new UwsGate({
    maxConnections: MAX_CONNECTIONS,
    ownDescriptors: openDescriptors(),
    open: () => {
      told.push("open");
      return ++triesToOpen > 3;
    },
    shut: () => void told.push("shut"),
    failed: (error) => failures.push((error as Error).message),
  });
  gate.watch();
  const descriptors = Array.from({ length: MAX_CONNECTIONS - 10 }, () => openSync("/dev/null", "r"));
  try {
    // Several checks later the gate is open, because its spare descriptors do not count.
    await stays("open", () => told.length === 0, 500);
    for (let nth = 0; nth < 20; nth++) descriptors.push(openSync("/dev/null", "r"));
    await eventually("the gate shuts", () => told.length === 1);
    for (const descriptor of descriptors.splice(0, 60)) closeSync(descriptor);
    await eventually("the gate opens", () => triesToOpen === 4);
    await stays("open again", () => told.length <= 5, 500);
    assert.deepEqual(told, ["shut", "open", "open", "open", "open"]);
    assert.equal(failures.length, 2, failures.join());
    assert.match(failures[0]!, /^no connections accepted: there are 1\d\d of 100$/);
    assert.equal(failures[1], "cannot listen on the port again");
  } finally {
    gate.close();
    for (const descriptor of descriptors) closeSync(descriptor);
  }
});

test("counts descriptors by name if the system does not count them", {
  skip,
}, async () => {
  // This folder is like /proc/self/fd before Linux 6.2: it has one entry per descriptor, but no size.
  const FOLDER = "/proc/self/fdinfo";
  assert.equal(statSync(FOLDER).size, 0);
  const counted = await countDescriptors(FOLDER);
  const descriptors = Array.from({ length: 50 }, () => openSync("/dev/null", "r"));
  assert.equal(await countDescriptors(FOLDER), (counted ?? 0) + 50);
  for (const descriptor of descriptors) closeSync(descriptor);
  assert.equal(await countDescriptors("/proc/self/none"), null);
});

test("the gate closes when no descriptor is left for counting", async () => {
  let isLooking = false;
  let looks = 0;
  let found: number | null = Number.POSITIVE_INFINITY;
  const told: string[] = [];
  const failures: string[] = [];
  const gate = new UwsGate({
    maxConnections: MAX_CONNECTIONS,
    ownDescriptors: 0,
    open: () => told.push("open") > 0,
    shut: () => void told.push("shut"),
    failed: (error) => failures.push((error as Error).message),
    count: async () => {
      assert.ok(!isLooking, "another look goes on");
      isLooking = true;
      await pace(30);
      isLooking = false;
      looks++;
      return found;
    },
  });
  gate.watch();
  try {
    await eventually("the gate shuts", () => told.length === 1);
    assert.deepEqual(failures, ["no connections accepted: no descriptor is left"]);
    // If the number of descriptors is unknown, it has no effect.
    found = null;
    const before = looks;
    await eventually("two looks", () => looks >= before + 2);
    assert.deepEqual(told, ["shut"]);
    found = 0;
    await eventually("the gate opens", () => told.length === 2);
    assert.deepEqual(told, ["shut", "open"]);
  } finally {
    gate.close();
  }
});

test("connections leave enough descriptors for everything else", { skip }, () => {
  assert.ok((descriptorLimit() ?? 0) > 0);
  assert.equal(connectionsWithin(256, 50), 256 - 64 - 50);
  assert.equal(connectionsWithin(1_024, 50), 1_024 - 256 - 50);
  assert.equal(connectionsWithin(1_048_576, 50), 1_048_576 - 1_024 - 50);
  assert.equal(connectionsWithin(64, 50), 16);
});
