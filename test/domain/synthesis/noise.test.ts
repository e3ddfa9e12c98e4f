import assert from "node:assert/strict";
import { test } from "node:test";
import { gaussianNoise, seedOf } from "../../../core/domain/synthesis/noise.js";
import * as fc from "../../support/properties.js";

const COUNT = 100_000;
/** Number of standard errors that a statistic of true noise exceeds only once in 15,000 seeds. */
const SIGMAS = 4;
const SEEDS = [0, 1, 2, 0x5bd1e995, 2 ** 32 - 1];

function mean(values: ArrayLike<number>, of: (value: number, index: number) => number): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += of(values[i]!, i);
  return sum / values.length;
}

function assertNear(actual: number, expected: number, standardDeviation: number, what: string): void {
  const allowed = (SIGMAS * standardDeviation) / Math.sqrt(COUNT);
  assert.ok(Math.abs(actual - expected) < allowed, `${what} ${actual}, expected ${expected} ± ${allowed}`);
}

for (const seed of SEEDS) {
  test(`noise of seed ${seed} has the moments of a Gaussian and no memory`, () => {
    const noise = gaussianNoise(COUNT, seed);
    // Standard deviations of one term: of x, x^2, x^3, x^4 and of products of two.
    assertNear(
      mean(noise, (x) => x),
      0,
      1,
      "mean",
    );
    assertNear(
      mean(noise, (x) => x ** 2),
      1,
      Math.sqrt(2),
      "variance",
    );
    assertNear(
      mean(noise, (x) => x ** 3),
      0,
      Math.sqrt(15),
      "skewness",
    );
    assertNear(
      mean(noise, (x) => x ** 4),
      3,
      Math.sqrt(96),
      "kurtosis",
    );
    for (const lag of [1, 2, 3, 256]) {
      assertNear(
        mean(noise, (x, i) => x * (noise[i - lag] ?? 0)),
        0,
        1,
        `correlation at lag ${lag}`,
      );
    }
    const beyondTwo = mean(noise, (x) => (Math.abs(x) > 2 ? 1 : 0));
    assertNear(beyondTwo, 0.0455, Math.sqrt(0.0455), "share beyond two sigma");
  });
}

test("the same seed gives the same noise; shorter noise is its beginning", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.nat({ max: 99 }), (seed, length) => {
      const longer = gaussianNoise(100, seed);
      assert.deepEqual(gaussianNoise(length, seed), longer.slice(0, length));
      assert.ok(longer.every(Number.isFinite));
    }),
  );
});

test("different seeds give uncorrelated noise", () => {
  const noises = SEEDS.map((seed) => gaussianNoise(COUNT, seed));
  for (const [index, noise] of noises.entries()) {
    for (const other of noises.slice(index + 1)) {
      assertNear(
        mean(noise, (x, i) => x * other[i]!),
        0,
        1,
        "correlation of two seeds",
      );
    }
  }
});

test("the seed of a text is its FNV-1a hash", () => {
  // Test vectors of the authors: http://www.isthe.com/chongo/tech/comp/fnv
  assert.equal(seedOf(""), 0x811c9dc5);
  assert.equal(seedOf("a"), 0xe40c292c);
  assert.equal(seedOf("foobar"), 0xbf9cf968);
});

test("texts that differ in one letter have different seeds", () => {
  assert.notEqual(seedOf("сәлем"), seedOf("салем"));
});
