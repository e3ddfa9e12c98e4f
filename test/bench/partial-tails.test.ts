import assert from "node:assert/strict";
import { test } from "node:test";
import { beginsWithTail, shownUtterances, tailLetters } from "../../bench/support/partial-tails.js";

test("letters of the previous final at the start of a partial are counted", () => {
  const shown = { lastPartial: "лы мендүкенге барамын", final: "мен дүкенге барамын" };
  assert.equal(tailLetters(shown, "бүгін күн жылы"), 2);
  assert.equal(tailLetters({ ...shown, lastPartial: "мендүкенге барамын" }, "бүгін күн жылы"), 0);
});

test("an utterance's own words are not a tail, even if they equal the end of the previous one", () => {
  assert.equal(tailLetters({ lastPartial: "лы ой", final: "лы ой" }, "жылы"), 0);
  assert.equal(tailLetters({ lastPartial: "рала", final: "рама" }, "балалар"), 0);
});

test("a partial that arrives before a first letter could is a tail", () => {
  const shown = { lastPartial: "ы мен", final: "мен" };
  assert.equal(beginsWithTail({ ...shown, firstPartialAfter: 0.07 }, "жоқ"), true);
  assert.equal(beginsWithTail({ ...shown, firstPartialAfter: 0.1 }, "жылы"), true);
  assert.equal(beginsWithTail({ ...shown, firstPartialAfter: 0.1 }, "жоқ"), false);
  assert.equal(beginsWithTail({ ...shown, firstPartialAfter: 0.2 }, "жылы"), false);
  assert.equal(beginsWithTail({ ...shown, firstPartialAfter: null }, "жылы"), true);
});

test("utterances are assembled from a session's messages", () => {
  const times = { start: 0.9, end: 1.5 };
  const shown = shownUtterances(
    [
      { type: "partial", utterance: 0, text: "а", ...times, end: 1.25, stable: 1 },
      { type: "partial", utterance: 0, text: "ал", ...times, stable: 2 },
      { type: "final", utterance: 0, text: "алма", ...times },
      { type: "final", utterance: 1, text: "", start: 3, end: 3.2 },
    ],
    [1, 2],
  );
  assert.deepEqual(shown, [
    { final: "алма", lastPartial: "ал", firstPartialAfter: 0.25 },
    { final: "", lastPartial: "", firstPartialAfter: null },
  ]);
});
