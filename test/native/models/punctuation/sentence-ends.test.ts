import assert from "node:assert/strict";
import { test } from "node:test";
import { GrowingSentence, SentenceEnds } from "../../../../native/models/punctuation/sentence-ends.js";

const ends = new SentenceEnds();

/**
 * The probabilities of a sentence end after each word, computed in float32 by the recipe's network with
 * PyTorch.
 */
const BY_RECIPE: Readonly<Record<string, readonly number[]>> = {
  "он пятнадцатого марта заплатил сто двадцать тысяч тенге": [
    0.0009, 0.0031, 0.0074, 0.0646, 0.0747, 0.0203, 0.1115, 0.3821,
  ],
  "мен кеше ауылға бардым": [0.0012, 0.0011, 0.0025, 0.3442],
  "сен қайда болдың": [0.0031, 0.0515, 0.5079],
  "потому что я не": [0.0016, 0.0011, 0.001, 0.0031],
};

for (const [text, expected] of Object.entries(BY_RECIPE)) {
  test(`reads "${text}" as the trained network does`, () => {
    const words = text.split(" ");
    const sentence = new GrowingSentence(ends);
    for (const [at, probability] of expected.entries()) {
      // The table is quantized to 8 bits.
      const off = Math.abs(sentence.endAfter(words.slice(0, at + 1)) - probability);
      assert.ok(off < 0.01, `${words[at]}: ${off}`);
    }
  });
}

test("a changed text is read again from the first different word", () => {
  const grown = new GrowingSentence(ends);
  grown.endAfter("мен кеше ауылдан келдім".split(" "));
  const fresh = new GrowingSentence(ends).endAfter("мен кеше ауылға бардым".split(" "));
  assert.equal(grown.endAfter("мен кеше ауылға бардым".split(" ")), fresh);
  assert.equal(grown.endAfter(["мен"]), new GrowingSentence(ends).endAfter(["мен"]));
});

test("an empty text has no sentence end", () => {
  assert.equal(new GrowingSentence(ends).endAfter([]), 0);
});
