import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceCells } from "../../../native/models/device-cells.js";
import { LaneLoads } from "../../../native/threads/lane-loads.js";
import { placingLog } from "../../support/device/placing-log.js";

/** Assigns `count` sessions, each to the lane with the least load. */
function deal(loads: LaneLoads, lanes: number[], count: number): void {
  for (let nth = 0; nth < count; nth++) {
    const [first = 0, second = 0] = lanes.map((own, lane) => loads.of(lane, lane, own));
    const lane = second < first ? 1 : 0;
    lanes[lane] = lanes[lane]! + 1;
  }
}

test("unmeasured devices get equal work", () => {
  const lanes = [0, 0];
  deal(new LaneLoads(new DeviceCells(DeviceCells.create()), () => 0), lanes, 10);
  assert.deepEqual(lanes, [5, 5]);
});

test("a device that is half as fast gets half the work", () => {
  let nowMs = 0;
  const cells = new DeviceCells(DeviceCells.create());
  const loads = new LaneLoads(cells, () => nowMs);
  const lanes = [0, 0];
  deal(loads, lanes, 20);
  nowMs = 1_000;
  cells.addBusy(0, 600_000);
  cells.addBusy(1, 300_000);
  deal(loads, lanes, 40);
  assert.deepEqual(lanes, [20, 40]);
});

test("a device busy with another engine gets only what exceeds the idle one", () => {
  let nowMs = 0;
  const cells = new DeviceCells(DeviceCells.create());
  const loads = new LaneLoads(cells, () => nowMs);
  const lanes = [0, 0];
  deal(loads, lanes, 0);
  loads.of(0, 0, 0);
  nowMs = 1_000;
  cells.addBusy(0, 900_000);
  loads.of(1, 1, 0);
  deal(loads, lanes, 10);
  assert.deepEqual(lanes, [0, 10]);
});

test("lanes on the same device, and on the CPU, are compared by their work", () => {
  for (const { placing } of [placingLog(["cuda"], [3]), placingLog(["cpu"], [0, 1])])
    for (const lane of [0, 1]) for (const count of [0, 7]) assert.equal(placing.loadOf(lane, count), count);
});
