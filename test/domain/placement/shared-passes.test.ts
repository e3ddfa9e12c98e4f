import assert from "node:assert/strict";
import { test } from "node:test";
import {
  paddedFrames,
  paddedRows,
  paddedShapes,
  type RowsOfLength,
  rowsOfLength,
  sharedRun,
  sharedRuns,
} from "../../../core/domain/placement/shared-passes.js";
import { array, assert as assertOf, integer, property, uniqueArray } from "../../support/properties.js";

const TABLE: readonly RowsOfLength[] = [
  { frames: 50, rows: 8 },
  { frames: 250, rows: 4 },
];

const lengths = array(integer({ min: 1, max: 800 }), { minLength: 1, maxLength: 40 });
const tables = uniqueArray(integer({ min: 1, max: 900 }), { maxLength: 4 }).chain((frames) =>
  array(integer({ min: 1, max: 32 }), { minLength: frames.length, maxLength: frames.length }).map((rows) =>
    frames.sort((a, b) => a - b).map((each, at) => ({ frames: each, rows: rows[at]! })),
  ),
);

test("a pass shares its run with as many others as its length allows", () => {
  assert.deepEqual(
    [1, 50, 51, 250, 251].map((frames) => rowsOfLength(TABLE, frames)),
    [8, 8, 4, 4, 1],
  );
  assert.equal(rowsOfLength([], 10), 1);
});

test("the first pass runs with later ones of about its length", () => {
  assert.deepEqual(sharedRun([40, 10, 30, 60, 45, 41], TABLE), [0, 2, 4, 5]);
  assert.deepEqual(sharedRun([100, 100, 100, 100, 100], TABLE), [0, 1, 2, 3]);
  assert.deepEqual(sharedRun([300, 300], TABLE), [0]);
  // A piece that would make the run longer than the table covers is skipped.
  assert.deepEqual(sharedRun([45, 46, 47, 48, 49, 51], TABLE), [0, 1, 2, 3, 4]);
});

test("every pass is in one run, within its longest pass's limit and with little padding", () => {
  assertOf(
    property(lengths, tables, (frames, table) => {
      const runs = sharedRuns(frames, table);
      assert.deepEqual(
        runs.flat().sort((a, b) => a - b),
        frames.map((_, at) => at),
      );
      for (const run of runs) {
        const own = run.map((at) => frames[at]!);
        assert.ok(run.length <= rowsOfLength(table, Math.max(...own)));
        assert.ok(Math.max(...own) <= 1.5 * Math.min(...own));
      }
    }),
  );
});

test("with prepared shapes every run has one of them, at most a quarter longer", () => {
  assertOf(
    property(lengths, tables, (frames, table) => {
      const known = new Set(paddedShapes(table, 800).map((shape) => `${shape.rows} ${shape.frames}`));
      assert.ok(known.size <= 150);
      for (const run of sharedRuns(frames, table)) {
        const longest = Math.max(...run.map((at) => frames[at]!));
        assert.ok(paddedFrames(longest) >= longest);
        assert.ok(longest < 16 || paddedFrames(longest) < 1.25 * longest);
        assert.ok(known.has(`${paddedRows(run.length)} ${paddedFrames(longest)}`));
      }
    }),
  );
});
