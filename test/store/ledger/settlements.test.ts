import assert from "node:assert/strict";
import { test } from "node:test";
import { Settlements } from "../../../src/store/ledger/settlements.js";
import { pace } from "../../support/pace.js";
import { SILENT } from "../../support/silent-log.js";

/** A query whose result the driver has lost. */
const NEVER = new Promise<never>(() => {});

test("a settlement without a result is retried", { timeout: 120_000 }, async () => {
  const settlements = new Settlements(SILENT, 20);
  let tries = 0;
  const settled = await settlements.settle("hold", () => (++tries < 3 ? NEVER : Promise.resolve("posted")));
  assert.deepEqual([settled, tries, settlements.size], ["posted", 3, 0]);
});

test("a settlement without a result does not prevent shutdown", { timeout: 120_000 }, async () => {
  const settlements = new Settlements(SILENT);
  const settled = settlements.settle("hold", () => NEVER);
  await settlements.close(20);
  assert.equal(settlements.size, 1);
  void settled;
});

test("closing waits for running settlements and retries failed ones once", {
  timeout: 120_000,
}, async () => {
  const settlements = new Settlements(SILENT);
  let tries = 0;
  const slow = settlements.settle("slow", async () => {
    await pace(50);
    return "posted";
  });
  const failing = settlements.settle("failing", async () => {
    tries++;
    throw new Error("away");
  });
  await settlements.close(300);
  assert.deepEqual([await slow, await failing], ["posted", null]);
  assert.ok(tries >= 2, `${tries} tries`);
});
