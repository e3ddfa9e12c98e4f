import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorCode } from "../../core/domain/errors.js";
import { parseVocabulary, readVocabulary } from "../../core/protocol/vocabulary.js";
import { hearingIn, TWO_OF_EACH } from "../support/catalog.js";

const { all: MODELS } = hearingIn("абвгдеёжзийклмнопрстуфхцчшщъыьэюя -");

test("words are returned as written, and read as in requests", () => {
  const written = { hotwords: [" Нью  Йорк", "ёж:2"], pronunciations: [{ word: "Kaspi", say: "Каспи!" }] };
  assert.deepEqual(parseVocabulary(written, MODELS), written);
  assert.deepEqual(readVocabulary(written), {
    hotWords: [
      { text: "нью йорк", characterScore: 1 },
      { text: "ёж", characterScore: 2 },
    ],
    pronunciations: [{ word: "Kaspi", spoken: "каспи" }],
  });
});

test("a list that is left out or null is empty", () => {
  for (const body of [{}, { hotwords: null, pronunciations: null }]) {
    assert.deepEqual(parseVocabulary(body, MODELS), { hotwords: [], pronunciations: [] });
    assert.deepEqual(readVocabulary(body), { hotWords: [], pronunciations: [] });
  }
});

const REJECTED: readonly (readonly [what: string, body: unknown, rule: RegExp, code?: ErrorCode])[] = [
  ["no object", [], /^the body must be a JSON object, received array$/],
  [
    "another field",
    { hotword: ["а"] },
    /^unknown field "hotword": did you mean "hotwords"\?$/,
    "UNKNOWN_PARAMETER",
  ],
  ["text in place of the list", { hotwords: "а,б" }, /^hotwords must be a list of words, received string$/],
  ["an item that is no text", { hotwords: ["а", 1] }, /^hotwords\[1\] must be a string, received number$/],
  ["two words in one", { hotwords: ["а,б"] }, /^hotwords\[0\] must be one word or phrase, received "а,б"$/],
  ["an empty word", { hotwords: [" "] }, /^hotwords must have 1 to 60 characters each, received 0$/],
  [
    "a long word",
    { hotwords: ["а".repeat(61)] },
    /^hotwords must have 1 to 60 characters each, received 61$/,
  ],
  ["a high score", { hotwords: ["а:6"] }, /^hotwords must have scores of 0 to 5, received "6"$/],
  [
    "too many words",
    { hotwords: Array(101).fill("а") },
    /^hotwords must be at most 100 words, received 101$/,
  ],
  [
    "letters of no model",
    { hotwords: ["qa"] },
    /must be written in the model's letters, received "q" in "qa"$/,
  ],
  [
    "an empty pronunciation",
    { pronunciations: [{ word: "a", say: "" }] },
    /^pronunciations\[0\]\.say must be 1 to 60/,
  ],
  [
    "a word twice",
    {
      pronunciations: [
        { word: "a", say: "а" },
        { word: "A", say: "а" },
      ],
    },
    /^pronunciations\[1\]\.word must not be there twice/,
  ],
  [
    "another member",
    { pronunciations: [{ word: "a", says: "а" }] },
    /^pronunciations\[0\]: unknown field "says": did you mean "say"\?$/,
    "UNKNOWN_PARAMETER",
  ],
  [
    "a NUL",
    { pronunciations: [{ word: "a\0", say: "а" }] },
    /^pronunciations\[0\]\.word must be well-formed Unicode/,
  ],
  [
    "half a pair",
    { pronunciations: [{ word: "a", say: "а\ud800" }] },
    /^pronunciations\[0\]\.say must be well-formed/,
  ],
];

for (const [what, body, message, code = "INVALID_REQUEST"] of REJECTED) {
  test(`rejects ${what} in the words of requests`, () => {
    assert.throws(() => parseVocabulary(body, MODELS), { code, message });
  });
}

test("a word needs the letters of one installed model, and any will do where none accepts hot words", () => {
  const [first, pieces] = TWO_OF_EACH.hearing.all;
  const other = { ...first!, name: "other", alphabet: new Set("qa") };
  assert.deepEqual(parseVocabulary({ hotwords: ["qa", "сәлем"] }, [first!, other]).hotwords, ["qa", "сәлем"]);
  assert.throws(() => parseVocabulary({ hotwords: ["qa", "z"] }, [first!, other]), /received "z" in "z"/);
  assert.deepEqual(parseVocabulary({ hotwords: ["☃"] }, [pieces!]).hotwords, ["☃"]);
});

test("a full vocabulary is accepted", () => {
  const hotwords = Array.from({ length: 100 }, () => "а".repeat(60));
  const pronunciations = Array.from({ length: 100 }, (_, index) => ({
    word: `слово ${index}`,
    say: "а".repeat(60),
  }));
  assert.deepEqual(parseVocabulary({ hotwords, pronunciations }, MODELS), { hotwords, pronunciations });
});
