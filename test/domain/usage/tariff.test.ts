import assert from "node:assert/strict";
import { test } from "node:test";
import { fileCredits, liveCredits, synthesisCredits } from "../../support/prices.js";
import * as fc from "../../support/properties.js";

test("credits are rounded up exactly, as with big integers", () => {
  const samples = fc.integer({ min: 0, max: 4 * 3_600 * 384_000 });
  const rates = fc.integer({ min: 4_000, max: 384_000 });
  fc.assert(
    fc.property(samples, rates, (sampleCount, rateHz) => {
      assert.equal(
        BigInt(fileCredits(sampleCount, rateHz)),
        ceiling(BigInt(sampleCount) * 5n, BigInt(rateHz) * 2n),
      );
      assert.equal(
        BigInt(liveCredits(sampleCount, rateHz)),
        ceiling(BigInt(sampleCount) * 6n, BigInt(rateHz)),
      );
    }),
  );
});

test("prices match the API documentation: an hour of a file, an hour live, a million characters", () => {
  assert.equal(fileCredits(3_600 * 16_000, 16_000), 9_000);
  assert.equal(liveCredits(3_600 * 16_000, 16_000), 21_600);
  assert.equal(synthesisCredits(1_000_000), 400_000);
});

test("charges every unit that was started", () => {
  assert.equal(fileCredits(1, 48_000), 1);
  assert.equal(fileCredits(0, 48_000), 0);
  assert.equal(synthesisCredits(5), 2);
  assert.equal(synthesisCredits(6), 3);
});

test("fractions and negative uses are rejected", () => {
  assert.throws(() => fileCredits(0.5, 16_000), RangeError);
  assert.throws(() => liveCredits(-1, 16_000), RangeError);
  assert.throws(() => liveCredits(1, 0), RangeError);
});

function ceiling(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}
