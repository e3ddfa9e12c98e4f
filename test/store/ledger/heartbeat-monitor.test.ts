import assert from "node:assert/strict";
import { test } from "node:test";
import { HeartbeatMonitor } from "../../../src/store/ledger/heartbeat-monitor.js";

const SILENT_MS = 30_000;
const LOOK_MS = 5_000;

/** Looks every five seconds. @returns the services found silent at each look */
function looks(monitor: HeartbeatMonitor, fromMs: number, heartbeats: readonly string[]): string[][] {
  return heartbeats.map((heartbeat, nth) =>
    monitor.silentAmong([{ id: "other", heartbeat }], fromMs + nth * LOOK_MS).map(({ id }) => id),
  );
}

test("finds a service whose heartbeat has not changed for the whole time", () => {
  const found = looks(new HeartbeatMonitor(SILENT_MS), 0, Array<string>(8).fill("same"));
  assert.deepEqual(found, [[], [], [], [], [], [], ["other"], ["other"]]);
});

test("a heartbeat that changes restarts the timer", () => {
  const beats = ["1", "1", "1", "1", "1", "2", "2", "2"];
  assert.deepEqual(looks(new HeartbeatMonitor(SILENT_MS), 0, beats).flat(), []);
});

test("a pause of the whole machine ends no service", () => {
  const monitor = new HeartbeatMonitor(SILENT_MS);
  looks(monitor, 0, ["1", "2"]);
  // An hour later this process looks first; the other one has not sent its heartbeat yet.
  assert.deepEqual(looks(monitor, 3_600_000, ["2"]), [[]]);
  assert.deepEqual(looks(monitor, 3_605_000, ["3", "4"]).flat(), []);
});

test("a service that stays silent after a pause is found", () => {
  const monitor = new HeartbeatMonitor(SILENT_MS);
  looks(monitor, 0, ["1"]);
  const found = looks(monitor, 3_600_000, Array<string>(5).fill("1"));
  assert.deepEqual(found.at(-1), ["other"]);
});
