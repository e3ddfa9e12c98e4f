import assert from "node:assert/strict";
import test from "node:test";
import { errorRates } from "../../bench/evaluate/error-rates.js";
import {
  countCharacterEdits,
  countWordEdits,
  editDistance,
  normalizeForScoring,
} from "../../core/domain/text/error-rate.js";
import * as fc from "../support/properties.js";

test("texts are compared in lower case, without punctuation, with ё as е", () => {
  assert.equal(normalizeForScoring("  «Ёлка», — сказал ОН…  "), "елка сказал он");
  assert.equal(normalizeForScoring("Қалайсың?\tЖақсы!\nРахмет"), "қалайсың жақсы рахмет");
  assert.equal(normalizeForScoring("e\u0301te\u0301"), "été");
});

test("keeps hyphens inside words and removes dashes between words", () => {
  assert.equal(normalizeForScoring("кое-как — ас-астың -де"), "кое-как ас-астың де");
  assert.equal(normalizeForScoring("- - -"), "");
});

test("normalizing a text twice changes nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      assert.equal(normalizeForScoring(normalizeForScoring(text)), normalizeForScoring(text));
    }),
  );
});

test("edit distance equals the recursive definition", () => {
  const letters = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 6 });
  fc.assert(
    fc.property(letters, letters, (from, to) =>
      assert.equal(editDistance(from, to), plainDistance(from, to)),
    ),
  );
});

test("characters are code points and words are split at spaces", () => {
  assert.deepEqual(countCharacterEdits({ reference: "Сәлем, әлем!", hypothesis: "салем әлем" }), {
    edits: 1,
    length: 10,
  });
  assert.deepEqual(countWordEdits({ reference: "Сәлем, әлем!", hypothesis: "салем әлем" }), {
    edits: 1,
    length: 2,
  });
});

test("a corpus is scored by summed edits over summed lengths", () => {
  const rates = errorRates([
    { reference: "бір", hypothesis: "екі" },
    { reference: "бір екі үш төрт", hypothesis: "бір екі үш" },
  ]);
  assert.equal(rates.pairs, 2);
  assert.equal(rates.words, 5);
  assert.equal(rates.wordErrorRate, 2 / 5);
  assert.equal(rates.characters, 18);
  assert.equal(rates.characterErrorRate, (3 + 5) / 18);
});

test("an empty reference counts insertions without dividing by zero", () => {
  assert.equal(errorRates([{ reference: "", hypothesis: "" }]).wordErrorRate, 0);
  assert.equal(errorRates([{ reference: "!", hypothesis: "да нет" }]).wordErrorRate, 2);
  assert.equal(errorRates([]).characterErrorRate, 0);
});

function plainDistance(from: readonly string[], to: readonly string[]): number {
  if (from.length === 0 || to.length === 0) return from.length + to.length;
  const [fromRest, toRest] = [from.slice(1), to.slice(1)];
  return Math.min(
    plainDistance(fromRest, toRest) + (from[0] === to[0] ? 0 : 1),
    plainDistance(fromRest, to) + 1,
    plainDistance(from, toRest) + 1,
  );
}
