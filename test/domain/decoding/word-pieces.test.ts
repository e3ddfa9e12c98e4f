import assert from "node:assert/strict";
import { test } from "node:test";
import { BeamDecoder } from "../../../core/domain/decoding/beam-decoder.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import { textOf, timedWords } from "../../../core/domain/decoding/words.js";

/** Pieces as in public recognisers: a space, even alone, starts a word, and some outputs are not text. */
const VOCABULARY = ["", " сә", "лем", " дүние", "", " ", "м"];

test("joins pieces into words with single spaces", () => {
  assert.equal(textOf([1, 2, 3], VOCABULARY), "сәлем дүние");
  assert.equal(textOf([5, 6, 5, 3], VOCABULARY), "м дүние");
  assert.equal(textOf([4, 1, 4, 2], VOCABULARY), "сәлем");
  assert.equal(textOf([5], VOCABULARY), "");
});

test("a word lasts from its first piece to its last", () => {
  const framed = {
    tokens: [1, 2, 4, 3, 5, 6],
    firstFrames: [2, 4, 5, 9, 11, 12],
    lastFrames: [3, 4, 5, 9, 11, 14],
  };
  assert.deepEqual(timedWords(framed, VOCABULARY, { frameSeconds: 0.08, offsetSeconds: 1 }), [
    { word: "сәлем", start: 1.16, end: 1.48 },
    { word: "дүние", start: 1.72, end: 1.8 },
    { word: "м", start: 1.96, end: 2.2 },
  ]);
});

test("each word has a confidence; outputs without text are not words", () => {
  const search = new PrefixBeamSearch(VOCABULARY, null, {
    beamWidth: 8,
    languageModelWeight: 0,
    characterBonus: 0,
    wordBonus: 0,
  });
  const best = [4, 1, 2, 0, 3, 4, 5, 6];
  const logProbs = Float32Array.from(
    best.flatMap((token) => VOCABULARY.map((_, i) => Math.log(i === token ? 0.94 : 0.01))),
  );
  const { text, words } = new BeamDecoder(VOCABULARY, search).decode(logProbs, best.length);
  assert.equal(text, "сәлем дүние м");
  assert.deepEqual(
    words.map(({ word }) => word),
    ["сәлем", "дүние", "м"],
  );
  for (const { confidence } of words) assert.ok(confidence > 0.5 && confidence <= 1, String(confidence));
});
