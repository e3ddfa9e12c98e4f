import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HotWord } from "../../core/domain/decoding/hot-words.js";
import { withStoredHotWords, withStoredPronunciations } from "../../core/domain/vocabulary.js";

const ALPHABET = new Set("абвгдежзиклмнопрстуфхцчшыэюя ");

const hot = (text: string, characterScore = 1): HotWord => ({ text, characterScore });
const said = (word: string, spoken = "а") => ({ word, spoken });

describe("stored hot words", () => {
  test("follow the request's own, which win on the same word", () => {
    const own = [hot("дом", 3), hot("сад")];
    const stored = [hot("река"), hot("дом", 1), hot("лес", 2)];
    assert.deepEqual(withStoredHotWords(own, stored, ALPHABET), [...own, hot("река"), hot("лес", 2)]);
    assert.deepEqual(withStoredHotWords([], stored, ALPHABET), stored);
  });

  test("fill up what one request may have, in order", () => {
    const words = Array.from({ length: 100 }, (_, index) =>
      hot("а".repeat((index % 50) + 1) + (index < 50 ? "б" : "в")),
    );
    const own = [hot("дом"), hot("сад")];
    assert.deepEqual(withStoredHotWords(own, words, ALPHABET), [...own, ...words.slice(0, 98)]);
    assert.deepEqual(withStoredHotWords(words, own, ALPHABET), words);
    // Deepgram's clients may send two lists.
    const two = [...words, hot("лес")];
    assert.deepEqual(withStoredHotWords(two, own, ALPHABET), two);
  });

  test("are left out for a model without their letters, or without hot words", () => {
    const stored = [hot("қала"), hot("река")];
    assert.deepEqual(withStoredHotWords([hot("дом")], stored, ALPHABET), [hot("дом"), hot("река")]);
    assert.deepEqual(withStoredHotWords([], stored, new Set()), []);
    const own = [hot("дом")];
    assert.equal(withStoredHotWords(own, [], ALPHABET), own);
  });
});

describe("stored pronunciations", () => {
  test("follow the request's own, which win on the same word in any case", () => {
    const stored = [said("kaspi", "каспий"), said("GPT", "джипити")];
    const own = [said("Kaspi", "каспи")];
    assert.deepEqual(withStoredPronunciations("Kaspi GPT", own, stored), [...own, stored[1]]);
    assert.deepEqual(withStoredPronunciations("Kaspi GPT", undefined, stored), stored);
    assert.deepEqual(withStoredPronunciations("Kaspi"), []);
  });

  test("fill up what one request may have, in order", () => {
    const stored = Array.from({ length: 100 }, (_, index) => said(`w${index}`));
    const own = [said("a"), said("b")];
    assert.deepEqual(withStoredPronunciations("a", own, stored), [...own, ...stored.slice(0, 98)]);
    assert.equal(withStoredPronunciations("a", stored, own).length, 100);
  });

  test("are left out of a text that they would make too long, as an own one would be rejected", () => {
    // A text of 5 characters may grow by 205.
    const grown = (count: number) =>
      withStoredPronunciations("Kaspi", [], [said("kaspi", "а".repeat(count))]).length;
    assert.deepEqual([grown(210), grown(211)], [1, 0]);
    const own = [said("gpt", "джипити")];
    assert.deepEqual(withStoredPronunciations("a gpt", own, [said("a", "а".repeat(300))]), own);
  });
});
