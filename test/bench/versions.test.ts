import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addVersion, versionsTable } from "../../bench/evaluate/versions.js";

const rates = (characterErrorRate: number, wordErrorRate: number) => ({
  characterErrorRate,
  wordErrorRate,
  pairs: 1,
  characters: 10,
  words: 2,
});
const FIRST = { date: "2026-01-02T03:04:05Z", rows: [{ set: "kk", beam: rates(0.02, 0.1) }] };
const SECOND = {
  weights: "aaaa",
  date: "2026-02-03T04:05:06Z",
  rows: [{ set: "kk", beam: rates(0.01, 0.05) }],
};

describe("versions of weights", () => {
  test("an evaluation without versions becomes the first version", () => {
    const versions = addVersion(FIRST, SECOND);
    assert.deepEqual(
      versions.map(({ weights, figures }) => [weights, figures["kk"]]),
      [
        ["first", [0.02, 0.1]],
        ["aaaa", [0.01, 0.05]],
      ],
    );
  });

  test("evaluating weights again replaces only their own results", () => {
    const once = { date: SECOND.date, rows: SECOND.rows, versions: addVersion(FIRST, SECOND) };
    const again = addVersion(once, { ...SECOND, rows: [{ set: "kk", beam: rates(0.03, 0.06) }] });
    assert.deepEqual(
      again.map(({ weights, figures }) => [weights, figures["kk"]]),
      [
        ["first", [0.02, 0.1]],
        ["aaaa", [0.03, 0.06]],
      ],
    );
  });

  test("a missing row is a dash, and the reference speech has a separate name", () => {
    const versions = addVersion(FIRST, {
      ...SECOND,
      rows: [
        { voice: "aigul", nfe: null, beam: rates(0.01, 0.02) },
        { voice: "aigul", nfe: 16, beam: rates(0.03, 0.04) },
      ],
    });
    assert.deepEqual(versionsTable(versions).split("\n"), [
      "| finals | first (2026-01-02 03:04) | aaaa (2026-02-03 04:05) |",
      "| --- | ---: | ---: |",
      "| kk | 2.0 / 10.0 | – |",
      "| aigul reference | – | 1.0 / 2.0 |",
      "| aigul nfe 16 | – | 3.0 / 4.0 |",
    ]);
  });
});
