import assert from "node:assert/strict";
import { test } from "node:test";
import { FLOORS } from "./findings.js";
import { readSources } from "./sources.js";

const LONGEST_FILE = 400;

test(`no file of code has more than ${LONGEST_FILE} lines`, () => {
  const lengths = [...readSources([...FLOORS, "test"])].map(
    ([path, text]) => [path, text.trimEnd().split("\n").length] as const,
  );
  assert.deepEqual(
    lengths.filter(([, lines]) => lines > LONGEST_FILE).map(([path, lines]) => `${path}: ${lines} lines`),
    [],
  );
});
