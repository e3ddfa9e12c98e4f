import assert from "node:assert/strict";
import { stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { HoldJournal } from "../../../src/store/ledger/hold-journal.js";
import { temporaryFolder } from "../../support/folders.js";
import * as fc from "../../support/properties.js";
import { SILENT } from "../../support/silent-log.js";

async function newPath(): Promise<string> {
  return join(await temporaryFolder(), "usage-journal");
}

/** Reads the file as another process would read it. */
function leftIn(path: string): Record<string, number> {
  const { journal, left } = HoldJournal.open(path, SILENT);
  journal.close();
  return Object.fromEntries(left);
}

test("the file contains every recorded hold and grows only with concurrent holds", async () => {
  const path = await newPath();
  const id = fc.integer({ min: 0, max: 7 }).map((number) => `req_${"x".repeat(number * 4)}${number}`);
  const step = fc.oneof(
    fc.record({ id, units: fc.nat({ max: 2 ** 40 }) }),
    fc.record({ id, units: fc.constant(null) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { journal } = HoldJournal.open(path, SILENT);
      journal.clear();
      const expected = new Map<string, number>();
      for (const { id, units } of steps) {
        if (units === null) {
          journal.forget(id);
          expected.delete(id);
        } else {
          journal.note(id, units);
          expected.set(id, units);
        }
        assert.deepEqual(leftIn(path), Object.fromEntries(expected));
      }
      journal.close();
    }),
    { numRuns: 100 },
  );
  assert.ok((await stat(path)).size <= 8 * 64);
});

test("the units of an earlier process stay until they are cleared", async () => {
  const path = await newPath();
  const first = HoldJournal.open(path, SILENT).journal;
  first.note("ses_1", 5);
  first.note("ses_2", 2 ** 45);
  first.close();
  const { journal, left } = HoldJournal.open(path, SILENT);
  assert.deepEqual(Object.fromEntries(left), { ses_1: 5, ses_2: 2 ** 45 });
  journal.note("ses_3", 1);
  assert.deepEqual(leftIn(path), { ses_1: 5, ses_2: 2 ** 45, ses_3: 1 });
  journal.forget("ses_3");
  journal.clear();
  assert.deepEqual(leftIn(path), {});
  journal.close();
});

test("all units of one turn of the event loop are written at its end", async () => {
  const path = await newPath();
  const { journal } = HoldJournal.open(path, SILENT);
  for (let session = 0; session < 200; session++) journal.noteSoon(`ses_${session}`, session);
  journal.noteSoon("ses_7", 1_000);
  await new Promise(setImmediate);
  const left = leftIn(path);
  assert.equal(Object.keys(left).length, 200);
  assert.deepEqual([left["ses_7"], left["ses_199"]], [1_000, 199]);
  journal.noteSoon("ses_8", 1_001);
  journal.close();
  assert.equal(leftIn(path)["ses_8"], 1_001);
});

test("a truncated file is tolerated, as are units recorded after closing", async () => {
  const path = await newPath();
  const { journal } = HoldJournal.open(path, SILENT);
  journal.note("ses_1", 5);
  journal.note("ses_2", 6);
  journal.close();
  journal.note("ses_3", 7);
  journal.forget("ses_1");
  await truncate(path, 100);
  assert.deepEqual(leftIn(path), { ses_1: 5 });
  await writeFile(path, "");
  assert.deepEqual(leftIn(path), {});
});
