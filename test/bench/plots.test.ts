import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { plots } from "../../bench/plots/pictures.js";
import { scale, ticksTo } from "../../src/plots/drawing.js";
import { ROOT, read, relativeLinks } from "../docs/markdown.js";

const LONGEST_PAGE = 120;
const drawn = plots();

for (const [path, svg] of drawn) {
  test(`${path} shows the saved results`, () => {
    assert.equal(readFileSync(join(ROOT, path), "utf8"), svg, "run `npm run plots`");
  });
}

test(`docs/benchmarks.md and docs/tuning.md link to every plot, benchmarks in at most ${LONGEST_PAGE} lines`, () => {
  const page = read("docs/benchmarks.md");
  const linked = relativeLinks(page + read("docs/tuning.md")).filter((target) =>
    target.startsWith("pictures/"),
  );
  assert.deepEqual(linked.toSorted(), [...drawn.keys()].map((path) => `pictures/${basename(path)}`).sort());
  const lines = page.trimEnd().split("\n").length;
  assert.ok(lines <= LONGEST_PAGE, `${lines} lines`);
});

test("README.md shows the plot of finals", () => {
  assert.ok(relativeLinks(read("README.md")).includes("docs/pictures/finals.svg"));
});

test("plots are readable on a phone and follow the colour scheme", () => {
  for (const [path, svg] of drawn) {
    const [, width = ""] = /viewBox="0 0 (\d+) \d+"/.exec(svg) ?? [];
    for (const [, size] of svg.matchAll(/font-size="(\d+)"/g)) {
      assert.ok((Number(size) * 390) / Number(width) >= 12, `${path}: font-size ${size}`);
    }
    assert.match(svg, /@media \(prefers-color-scheme: dark\)/, path);
    assert.doesNotMatch(svg, /NaN|undefined|Infinity/, path);
  }
});

test("ticks are round and reach the highest value", () => {
  assert.deepEqual(
    ticksTo(651, 5).map(({ at }) => at),
    [0, 200, 400, 600, 800],
  );
  assert.deepEqual(
    ticksTo(0.9, 4).map(({ label }) => label),
    ["0", "0.25", "0.5", "0.75", "1"],
  );
});

test("a value outside a scale's domain is moved to its edge", () => {
  const x = scale([0, 100], [10, 20]);
  assert.deepEqual([-5, 0, 50, 100, 130].map(x), [10, 10, 15, 20, 20]);
});
