import assert from "node:assert/strict";
import { test } from "node:test";
import { wordErrorDifference } from "../../bench/evaluate/paired-difference.js";

const REFERENCE = "бір екі үш төрт";

test("the difference of error rates is the candidate's extra errors over the words", () => {
  const pairs = [
    { reference: REFERENCE, candidate: "бір екі үш", baseline: REFERENCE },
    { reference: REFERENCE, candidate: REFERENCE, baseline: REFERENCE },
  ];
  const { difference, low, high } = wordErrorDifference(pairs);
  assert.equal(difference, 1 / 8);
  // Drawing with replacement takes the first recording twice or never.
  assert.deepEqual([low, high], [0, 1 / 4]);
});

test("errors of both on the same recordings give an interval of zero width", () => {
  const pairs = ["бір", "бір екі", "алма", ""].map((text) => {
    return { reference: REFERENCE, candidate: text, baseline: text };
  });
  assert.deepEqual(wordErrorDifference(pairs), { difference: 0, low: 0, high: 0 });
});

test("the interval narrows with the number of recordings", () => {
  const pairs = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const candidate = index % 4 === 0 ? "бір екі үш" : REFERENCE;
      return { reference: REFERENCE, candidate, baseline: index % 4 === 2 ? "бір" : REFERENCE };
    });
  const few = wordErrorDifference(pairs(20));
  const many = wordErrorDifference(pairs(500));
  assert.equal(few.difference, many.difference);
  assert.ok(many.high - many.low < (few.high - few.low) / 3);
  assert.ok(many.low < many.difference && many.difference < many.high);
});
