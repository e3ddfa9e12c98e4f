import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findings } from "./findings.js";
import { PLANTED } from "./planted.js";
import { ROOMS } from "./rooms.js";
import { withRoomsTable } from "./rooms-table.js";
import { ROOT, readSources } from "./sources.js";

const sources = readSources();

test("every import stands in the table of rooms, and no files import each other in a circle", () => {
  assert.deepEqual(findings(sources), []);
});

test("a room imports rooms above it only, and every row stands for files", () => {
  const below = ROOMS.flatMap(({ name, imports }, index) =>
    imports
      .filter((to) => to !== "test" && !ROOMS.slice(0, index).some((room) => room.name === to))
      .map((to) => `${name} → ${to}`),
  );
  assert.deepEqual(below, []);
  const empty = ROOMS.flatMap(({ folders }) => folders).filter((folder) => {
    const start = folder.replace(/\*\*$/, "");
    return ![...sources.keys()].some((path) => path === start || path.startsWith(start));
  });
  assert.deepEqual(empty, []);
});

test("planted violations are all found, each by its one line, and nothing else is said", () => {
  const copy = new Map(sources);
  for (const { files } of PLANTED) for (const [path, text] of Object.entries(files)) copy.set(path, text);
  assert.deepEqual(findings(copy), PLANTED.map(({ finding }) => finding).sort());
});

test("ARCHITECTURE.md shows the table", () => {
  const document = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
  assert.equal(document, withRoomsTable(document), "run `npm run rooms`");
});
