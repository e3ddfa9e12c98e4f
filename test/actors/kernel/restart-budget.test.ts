import assert from "node:assert/strict";
import { test } from "node:test";
import { RestartBudget } from "../../../core/kernel/supervisor.js";
import * as fc from "../../support/properties.js";

test("a budget limits the restarts in every window", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4 }),
      fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 40 }),
      (maxRestarts, pausesMs) => {
        const budget = new RestartBudget({ maxRestarts, windowMs: 100 });
        const takenAtMs: number[] = [];
        let nowMs = 0;
        for (const pauseMs of pausesMs) {
          nowMs += pauseMs;
          const inWindow = takenAtMs.filter((atMs) => atMs > nowMs - 100).length;
          assert.equal(budget.take(nowMs), inWindow < maxRestarts);
          if (inWindow < maxRestarts) takenAtMs.push(nowMs);
        }
      },
    ),
  );
});
