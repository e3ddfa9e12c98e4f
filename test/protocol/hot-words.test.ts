import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { parseTranscribeQuery } from "../../core/protocol/transcribe-query.js";
import { hearingIn, TWO_OF_EACH } from "../support/catalog.js";

const MODELS = hearingIn("абвгдеёжзийклмнопрстуфхцчшщъыьэюя -");
const read = (value: string) =>
  parseTranscribeQuery(new URLSearchParams({ hotwords: value }), MODELS).hotWords;

test("words are normalized to lower case and single spaces, each with a score", () => {
  const expected = [
    { text: "нью йорк", characterScore: 1 },
    { text: "йод", characterScore: 0 },
    { text: "ёж", characterScore: 4.25 },
  ];
  assert.deepEqual(read(" Нью \t Йорк ,, ЙОД:0,е\u0308ж: 4.25 ,"), expected);
  assert.deepEqual(read(""), []);
  assert.deepEqual(parseTranscribeQuery(new URLSearchParams(), MODELS).hotWords, []);
});

for (const [what, value, pattern] of [
  ["too many", Array.from({ length: 101 }, () => "а").join(), /at most 100 words, received 101/],
  ["too long", "а".repeat(61), /1 to 60 characters each, received 61/],
  ["empty but for its score", ":2", /1 to 60 characters each, received 0/],
  ["of a score above the bound", "а:5.01", /scores of 0 to 5, received "5.01"/],
  ["of a negative score", "а:-1", /scores of 0 to 5, received "-1"/],
  ["of a score that is no number", "а:много", /scores of 0 to 5, received "много"/],
  ["of two scores", "а:1:2", /scores of 0 to 5, received "1:2"/],
  ["of an exponent", "а:1e0", /scores of 0 to 5/],
  ["in letters of another alphabet", "абв,qr", /the model's letters, received "q" in "qr"/],
  ["with punctuation", "а.б", /the model's letters, received "." in "а.б"/],
] as const) {
  test(`a list with words ${what} is rejected with the rule and the value`, () => {
    assert.throws(
      () => read(value),
      (error) =>
        error instanceof ServiceError && error.code === "INVALID_REQUEST" && pattern.test(error.message),
    );
  });
}

test("a hundred words of sixty characters are accepted", () => {
  assert.equal(read(Array.from({ length: 100 }, () => "а".repeat(60)).join()).length, 100);
});

test("a model without an alphabet accepts no hot words", () => {
  const pieces = (query: Record<string, string>) =>
    parseTranscribeQuery(new URLSearchParams({ model: "pieces", ...query }), TWO_OF_EACH.hearing);
  assert.equal(pieces({}).model.name, "pieces");
  assert.throws(() => pieces({ hotwords: "сәлем" }), {
    code: "INVALID_REQUEST",
    message: /^hotwords must be omitted: pieces does not support hot words$/,
  });
});
