import assert from "node:assert/strict";
import { test } from "node:test";
import { inputSpan, resampleSpan } from "../../../core/domain/audio/resample.js";
import { loadBinding } from "../../../native/beam/binding.js";
import * as fc from "../../support/properties.js";

const RATES = [8_000, 11_025, 24_000, 44_100, 48_000];

function native() {
  const { binding } = loadBinding();
  assert.ok(binding !== null, "npm run build-native");
  return binding;
}

test("native resampling is bit-identical to TypeScript's", () => {
  const { resample } = native();
  fc.assert(
    fc.property(
      fc.constantFrom(...RATES),
      fc.nat(5_000),
      fc.nat(700),
      fc.nat(),
      (fromHz, start, count, seed) => {
        const rates = { fromHz, toHz: 16_000 };
        const span = { start, end: start + count };
        const { start: from, end } = inputSpan(span, rates);
        const inputs = Float32Array.from({ length: end - from }, (_, i) => Math.sin(i * i + seed));
        assert.deepEqual(resampleSpan(inputs, span, rates, resample), resampleSpan(inputs, span, rates));
      },
    ),
    { numRuns: 60 },
  );
});

test("native resampling rejects arrays of mismatched sizes", () => {
  const { resample } = native();
  const [table, inputs, outputs] = [new Float32Array(8), new Float32Array(6), new Float32Array(3)];
  resample(table, 4, 2, 2, 1, inputs, outputs);
  for (const [taps, up, down, phase, length] of [
    [4, 2, 2, 1, 4],
    [4, 2, 3, 1, 3],
    [4, 2, 2, 2, 3],
    [8, 2, 2, 0, 1],
    [6, 1, 1, 0, 1],
    [4, 0, 2, 0, 0],
    [4, 2, -1, 0, 3],
  ] as const) {
    const refused = () => resample(table, taps, up, down, phase, inputs, new Float32Array(length));
    assert.throws(refused, TypeError, `${taps} ${up} ${down} ${phase} ${length}`);
  }
});
