import assert from "node:assert/strict";
import { test } from "node:test";
import { solverTimes, swaySchedule } from "../../../core/domain/synthesis/schedule.js";
import * as fc from "../../support/properties.js";

const anySteps = fc.integer({ min: 1, max: 64 });

test("steps go from 0 to 1 and never back", () => {
  fc.assert(
    fc.property(anySteps, fc.double({ min: -1, max: 1, noNaN: true }), (nfe, sway) => {
      const times = swaySchedule(nfe, sway);
      assert.equal(times.length, nfe + 1);
      assert.equal(times[0], 0);
      // The cosine of a quarter turn is zero except for the last bit.
      assert.ok(Math.abs(times[nfe]! - 1) < 1e-15);
      for (let step = 1; step <= nfe; step++) assert.ok(times[step]! > times[step - 1]!);
    }),
  );
});

test("without sway all steps are equal", () => {
  fc.assert(
    fc.property(anySteps, (nfe) => {
      assert.deepEqual(
        [...swaySchedule(nfe, 0)],
        Array.from({ length: nfe + 1 }, (_, step) => step / nfe),
      );
    }),
  );
});

test("full sway follows a cosine, with its shortest steps at the noisy end", () => {
  const times = swaySchedule(16, -1);
  for (const [step, time] of times.entries()) {
    // The same number is computed in two ways that differ in the last bits.
    assert.ok(Math.abs(time - (1 - Math.cos((Math.PI / 2) * (step / 16)))) < 1e-15);
  }
  const lengths = [...times.slice(1)].map((time, step) => time - times[step]!);
  assert.deepEqual(
    lengths,
    lengths.toSorted((a, b) => a - b),
  );
});

test("a package's own times apply to the step counts it lists, the sway to all others", () => {
  const solver = { sway: -1, times: { "2": [0, 0.2, 1] } };
  assert.deepEqual(solverTimes(2, solver), Float64Array.of(0, 0.2, 1));
  assert.deepEqual(solverTimes(3, solver), swaySchedule(3, -1));
  assert.deepEqual(solverTimes(2, { sway: -1 }), swaySchedule(2, -1));
});
