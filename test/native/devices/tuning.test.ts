import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readDeviceTuning, writeDeviceTuning } from "../../../native/devices/tuning.js";
import { chooseRows } from "../../../src/domain/placement/row-choice.js";
import { temporaryFolder } from "../../support/folders.js";

const TUNING = {
  device: "a card",
  measured: "2026-11-23T00:00:00.000Z",
  solverRows: 16,
  windowRows: 8,
  liveRows: 256,
};

test("the fewest rows are taken that give nearly the best rate within the budget", () => {
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

test("what was measured on one provider stays when another is measured", async () => {
  const folder = join(await temporaryFolder(), "data");
  assert.deepEqual(await readDeviceTuning(folder), {});
  await writeDeviceTuning(folder, "cuda", TUNING);
  await writeDeviceTuning(folder, "webgpu", { ...TUNING, solverRows: 4 });
  assert.deepEqual(await readDeviceTuning(folder), { cuda: TUNING, webgpu: { ...TUNING, solverRows: 4 } });
});

test("a table that was written by hand is refused by its field", async () => {
  const folder = await temporaryFolder();
  await writeFile(
    join(folder, "device-tuning.json"),
    JSON.stringify({ cuda: { ...TUNING, liveRows: 1_000 } }),
  );
  await assert.rejects(
    readDeviceTuning(folder),
    /device-tuning\.json: cuda\.liveRows must be a whole number from 1 to 256, found 1000/,
  );
});
