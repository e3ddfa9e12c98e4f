import assert from "node:assert/strict";
import { test } from "node:test";
import { type BatchRows, USUAL_ROWS } from "../../core/domain/placement/batch-rows.js";
import { everyShape, StepGroup, stepCapacity } from "../../native/live/step-groups.js";
import { batchRows } from "../../src/service/engines.js";

const MEASURED: BatchRows = {
  solverRows: 16,
  windowRows: 8,
  liveRows: 256,
  finalRows: [{ frames: 250, rows: 8 }],
  fileRows: [{ frames: 500, rows: 16 }],
  hearFrames: 250,
};

test("the rows measured for the device are used, or else the defaults", () => {
  assert.deepEqual(batchRows(null), USUAL_ROWS);
  assert.deepEqual(batchRows(null, MEASURED), MEASURED);
});

test("SYNTHESIS_ROWS overrides the measured rows", () => {
  assert.deepEqual(batchRows(4, MEASURED), { ...MEASURED, solverRows: 4, windowRows: 4 });
});

test("live steps use the rows that their device allows, fewer for longer chunks", () => {
  const shapes = (rows: number) =>
    everyShape(stepCapacity(rows)).map((shape) => `${shape.rows}x${shape.frames}`);
  const groups = (rows: number) =>
    [1, 2, 4, 16].map((frames) => new StepGroup(frames, stepCapacity(rows)).maxRows);
  assert.deepEqual(groups(64), [64, 64, 32, 8]);
  assert.deepEqual(groups(256), [256, 256, 128, 32]);
  assert.deepEqual(groups(1), [1, 1, 1, 1]);
  assert.ok(!shapes(64).some((shape) => shape.startsWith("96x")));
  assert.ok(shapes(64).includes("64x2") && shapes(256).includes("256x2") && shapes(100).includes("100x1"));
});
