import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { chooseRows } from "../../../bench/support/row-choice.js";
import { type BatchRows, USUAL_ROWS } from "../../../core/domain/placement/batch-rows.js";
import { readDeviceTuning, writeDeviceTuning } from "../../../native/devices/tuning.js";
import { temporaryFolder } from "../../support/folders.js";

const ROWS: BatchRows = {
  solverRows: 16,
  windowRows: 8,
  liveRows: 256,
  finalRows: [{ frames: 250, rows: 8 }],
  fileRows: [
    { frames: 250, rows: 16 },
    { frames: 500, rows: 8 },
  ],
  hearFrames: 250,
};
const TUNING = { ...ROWS, device: "a card", measured: "2026-11-23T00:00:00.000Z" };

test("the fewest rows that give nearly the best rate within the budget are chosen", () => {
  const times = [
    { rows: 64, ms: 40 },
    { rows: 16, ms: 10.2 },
    { rows: 1, ms: 2 },
    { rows: 32, ms: 20 },
  ];
  assert.equal(chooseRows(times, 25), 16);
  assert.equal(chooseRows(times, 5), 1);
  assert.equal(chooseRows(times, 1), 1);
  assert.equal(chooseRows([...times, { rows: 128, ms: 24 }], 25), 128);
});

test("measurements of one provider are kept when another is measured", async () => {
  const folder = join(await temporaryFolder(), "data");
  assert.deepEqual(await readDeviceTuning(folder), {});
  await writeDeviceTuning(folder, "cuda", TUNING);
  await writeDeviceTuning(folder, "webgpu", { ...TUNING, solverRows: 4 });
  assert.deepEqual(await readDeviceTuning(folder), { cuda: TUNING, webgpu: { ...TUNING, solverRows: 4 } });
});

test("a table without second passes gets default rows for them", async () => {
  const folder = await temporaryFolder();
  const { finalRows, fileRows, hearFrames, ...before } = TUNING;
  await writeFile(join(folder, "device-tuning.json"), JSON.stringify({ cuda: before }));
  const usual = { finalRows: [], fileRows: [], hearFrames: USUAL_ROWS.hearFrames };
  assert.deepEqual(await readDeviceTuning(folder), { cuda: { ...before, ...usual } });
});

for (const [field, changes] of [
  ["liveRows must be a whole number from 1 to 256, found 1000", { liveRows: 1_000 }],
  ["hearFrames must be a whole number from 1 to 2000, found 0", { hearFrames: 0 }],
  ['finalRows must be a list of rows with ascending frames, found "8"', { finalRows: "8" }],
  [
    'fileRows must be a list of rows with ascending frames, found [{"frames":50,"rows":2},{"frames":50,"rows":1}]',
    {
      fileRows: [
        { frames: 50, rows: 2 },
        { frames: 50, rows: 1 },
      ],
    },
  ],
  [
    'fileRows must be a list of rows with ascending frames, found [{"frames":50}]',
    { fileRows: [{ frames: 50 }] },
  ],
] as const) {
  test(`an invalid manual table is rejected with its field: ${field}`, async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "device-tuning.json");
    await writeFile(path, JSON.stringify({ cuda: { ...TUNING, ...changes } }));
    await assert.rejects(readDeviceTuning(folder), { message: `Cannot use ${path}: cuda.${field}` });
  });
}
