import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { clusterEmbeddings } from "../../../core/domain/diarization/clustering.js";
import "../../support/properties.js";

const unknown = (threshold: number) => ({ threshold, speakerCount: null });
const known = (speakerCount: number) => ({ threshold: 0.5, speakerCount });

/** Returns unit vectors in a plane. The cosine distance of two is 1 - cos of the angle between them. */
function at(...degrees: readonly number[]): Float32Array[] {
  return degrees.map((angle) => {
    const radians = (angle * Math.PI) / 180;
    return Float32Array.of(Math.cos(radians), Math.sin(radians));
  });
}

test("no embeddings give no groups, and one embedding gives one", () => {
  assert.deepEqual([...clusterEmbeddings([], unknown(0.5))], []);
  assert.deepEqual([...clusterEmbeddings(at(30), unknown(0.5))], [0]);
  assert.deepEqual([...clusterEmbeddings(at(30), known(4))], [0]);
});

test("embeddings in two directions form two groups, numbered by first appearance", () => {
  assert.deepEqual([...clusterEmbeddings(at(90, 0, 93, 2, 88, 1), unknown(0.5))], [0, 1, 0, 1, 0, 1]);
});

test("length does not matter, only direction", () => {
  const scaled = at(0, 90, 1, 91).map((row, index) => row.map((value) => value * 10 ** index));
  assert.deepEqual([...clusterEmbeddings(scaled, unknown(0.5))], [0, 1, 0, 1]);
});

test("complete linkage counts the farthest members: a chain is cut where single linkage would not", () => {
  // 25 degrees are a distance of 0.09, 50 degrees of 0.36, 75 degrees of 0.74.
  assert.deepEqual([...clusterEmbeddings(at(0, 25, 51, 77), unknown(0.5))], [0, 0, 1, 1]);
});

test("a distance equal to the threshold separates two groups", () => {
  const right = [Float32Array.of(1, 0), Float32Array.of(0, 1)];
  assert.deepEqual([...clusterEmbeddings(right, unknown(1))], [0, 1]);
  assert.deepEqual([...clusterEmbeddings(right, unknown(1.001))], [0, 0]);
});

test("a known number of speakers overrides the threshold", () => {
  const spread = at(0, 4, 90, 94, 180, 184);
  assert.deepEqual([...clusterEmbeddings(spread, known(1))], [0, 0, 0, 0, 0, 0]);
  assert.deepEqual([...clusterEmbeddings(spread, known(3))], [0, 0, 1, 1, 2, 2]);
  assert.deepEqual([...clusterEmbeddings(spread, known(9))], [0, 1, 2, 3, 4, 5]);
});

test("an embedding of zeros is as far from all others as a right angle", () => {
  assert.deepEqual([...clusterEmbeddings([...at(0, 1), new Float32Array(2)], unknown(0.9))], [0, 0, 1]);
});

test("more than 4,000 embeddings are grouped like a few", () => {
  const many = Array.from({ length: 9_001 }, (_, index) => 120 * (index % 3) + (index % 7));
  const labels = clusterEmbeddings(at(...many), unknown(0.5));
  assert.deepEqual([...new Set(labels)], [0, 1, 2]);
  assert.ok(labels.every((label, index) => label === index % 3));
});

test("the work can be stopped", () => {
  const options = { ...unknown(0.5), checkpoint: () => assert.fail("stopped") };
  assert.throws(() => clusterEmbeddings(at(0, 1, 2), options), /stopped/);
});

test("groups equal those of repeatedly joining the closest pair", () => {
  const vectors = fc.array(
    fc
      .array(fc.integer({ min: -50, max: 50 }), { minLength: 4, maxLength: 4 })
      .filter((row) => row.some((value) => value !== 0)),
    { minLength: 1, maxLength: 14 },
  );
  fc.assert(
    fc.property(vectors, fc.double({ min: 0.05, max: 1.5, noNaN: true }), (rows, threshold) => {
      const expected = joinedByClosestPair(rows, threshold);
      // Equal distances may be joined in any order.
      fc.pre(expected !== null);
      assert.deepEqual(
        [
          ...clusterEmbeddings(
            rows.map((row) => Float32Array.from(row)),
            unknown(threshold),
          ),
        ],
        expected,
      );
    }),
  );
});

/** The definition, in cubic time. Returns null if two pairs are equally close. */
function joinedByClosestPair(rows: readonly (readonly number[])[], threshold: number): number[] | null {
  let groups = rows.map((_, index) => [index]);
  const far = (one: readonly number[], other: readonly number[]) =>
    Math.max(...one.flatMap((a) => other.map((b) => cosineDistance(rows[a]!, rows[b]!))));
  for (;;) {
    const pairs = groups.flatMap((one, a) =>
      groups.slice(a + 1).map((other) => ({ one, other, distance: far(one, other) })),
    );
    pairs.sort((a, b) => a.distance - b.distance);
    const [closest, next] = pairs;
    if (closest === undefined || closest.distance > threshold + 1e-4) break;
    if (Math.abs(closest.distance - threshold) <= 1e-4) return null;
    if (next !== undefined && next.distance - closest.distance < 1e-4) return null;
    groups = [
      ...groups.filter((group) => group !== closest.one && group !== closest.other),
      [...closest.one, ...closest.other],
    ];
  }
  groups.sort((a, b) => Math.min(...a) - Math.min(...b));
  return rows.map((_, index) => groups.findIndex((group) => group.includes(index)));
}

function cosineDistance(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, i) => sum + value * y[i]!, 0);
  return Math.max(0, 1 - dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)));
}
