import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellOptions, type Rule, simulateCell } from "../../bench/support/cell-simulation.js";

/** The simulation of the bench, but shorter. */
const CELL: Omit<CellOptions, "rule"> = {
  seed: 1,
  sessions: 20_000,
  fronts: 10,
  nodes: 48,
  sessionsPerNode: 600,
  lanesPerFront: 24,
  sessionSeconds: 30,
  seconds: 60,
  lossEverySeconds: 15,
  replacedAfterSeconds: 10,
};
const simulate = (rule: Rule) => simulateCell({ ...CELL, rule });

test("two choices keep every node within a tenth of the mean, through arrivals and losses", () => {
  const { highestShares, refused, mostOnNode } = simulate("two choices");
  assert.ok(highestShares.length >= 50, `${highestShares.length} looks`);
  assert.ok(Math.max(...highestShares) < 1.1, `fullest ${Math.max(...highestShares)}`);
  assert.equal(refused, 0);
  assert.ok(mostOnNode < CELL.sessionsPerNode, `${mostOnNode} on one`);
});

test("two choices spread a lost node's sessions; the lowest reported load sends them all to one node", () => {
  const most = (rule: Rule) => Math.max(...simulate(rule).herds);
  const [spread, herd] = [most("two choices"), most("least told")];
  assert.ok(spread < 5, `one node got ${spread} even parts`);
  assert.ok(herd > 2 * spread, `${herd} against ${spread}`);
});
