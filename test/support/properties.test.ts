import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import * as fc from "./properties.js";

function cases(): number[] {
  const drawn: number[] = [];
  fc.assert(fc.property(fc.nat(), (value) => void drawn.push(value)));
  return drawn;
}

/** Returns the cases that another process draws, and its other output. */
function casesOf(settings: Record<string, string>): { said: string; drawn: number[]; failure: string } {
  const { PROPERTY_SEED: _seed, PROPERTY_RUNS: _runs, ...environment } = process.env;
  const script = `
    import * as fc from ${JSON.stringify(new URL("./properties.js", import.meta.url).href)};
    const drawn = [];
    fc.assert(fc.property(fc.nat(), (value) => void drawn.push(value)));
    console.log(JSON.stringify(drawn));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    env: { ...environment, ...settings },
    encoding: "utf8",
  });
  const lines = stdout.trim().split("\n");
  return { drawn: JSON.parse(lines.pop() || "[]"), said: lines.join("\n"), failure: stderr };
}

test("without settings, every run draws the same cases and prints nothing", () => {
  const { drawn, said } = casesOf({});
  assert.equal(drawn.length, 100);
  assert.equal(said, "");
  assert.deepEqual(casesOf({}).drawn, drawn);
  assert.deepEqual(cases(), cases());
});

test("a search draws the requested number of other cases and prints how to repeat them", () => {
  const search = casesOf({ PROPERTY_SEED: "random", PROPERTY_RUNS: "3" });
  assert.equal(search.drawn.length, 300);
  assert.notDeepEqual(search.drawn.slice(0, 100), casesOf({}).drawn);
  const seed = /^PROPERTY_SEED=(\d+) /.exec(search.said)?.[1];
  assert.ok(seed !== undefined, search.said);
  assert.deepEqual(casesOf({ PROPERTY_SEED: seed, PROPERTY_RUNS: "3" }).drawn, search.drawn);
});

test("invalid settings are rejected", () => {
  assert.match(casesOf({ PROPERTY_SEED: "abc" }).failure, /PROPERTY_SEED must be an integer or "random"/);
  assert.match(casesOf({ PROPERTY_RUNS: "0" }).failure, /PROPERTY_RUNS must be a number above 0/);
});
