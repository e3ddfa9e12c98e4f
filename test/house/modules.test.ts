import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findings } from "./findings.js";
import { LAYERS, pictures } from "./layers.js";
import { MODULES } from "./modules.js";
import { PLANTED } from "./planted.js";
import { ROOT, readSources } from "./sources.js";

const sources = readSources();

test("every import is in the table of modules, and there are no import cycles", () => {
  assert.deepEqual(findings(sources), []);
});

test("modules import only modules above them in the table", () => {
  const below = MODULES.flatMap(({ name, imports }, index) =>
    imports
      .filter((to) => to !== "test" && !MODULES.slice(0, index).some((module) => module.name === to))
      .map((to) => `${name} → ${to}`),
  );
  assert.deepEqual(below, []);
  const empty = MODULES.flatMap(({ folders }) => folders).filter((folder) => {
    const start = folder.replace(/\*\*$/, "");
    return ![...sources.keys()].some((path) => path === start || path.startsWith(start));
  });
  assert.deepEqual(empty, []);
});

test("no layer imports the one above it", () => {
  const levelOf = (name: string) =>
    LAYERS.findIndex(({ folders }) => folders.some((folder) => folder === name.split("/")[0]));
  const upward = MODULES.filter(({ name }) => levelOf(name) >= 0).flatMap(({ name, imports }) =>
    imports.filter((to) => levelOf(to) >= 0 && levelOf(to) < levelOf(name)).map((to) => `${name} → ${to}`),
  );
  assert.deepEqual(upward, []);
});

test("reports exactly the planted violations, each once", () => {
  const copy = new Map(sources);
  for (const { files } of PLANTED) for (const [path, text] of Object.entries(files)) copy.set(path, text);
  assert.deepEqual(findings(copy), PLANTED.map(({ finding }) => finding).sort());
});

for (const [path, svg] of pictures()) {
  test(`${path} shows the modules as they are`, () => {
    assert.equal(readFileSync(join(ROOT, path), "utf8"), svg, "run `npm run modules`");
  });
}
