import assert from "node:assert/strict";
import { test } from "node:test";
import { corpusLines } from "../../../bench/support/corpora.js";
import { majorityLanguage, wordLanguage } from "../../../core/domain/text/script.js";

const wordsOf = (line: string) => line.toLowerCase().match(/[а-яёәғқңөұүһі]+/g) ?? [];

/** Tests held-out lines of the corpora, which did not contribute to the word lists. */
function shareRight(file: string, language: string): number {
  const lines = corpusLines(file);
  return lines.filter((line) => majorityLanguage(wordsOf(line)) === language).length / lines.length;
}

test("the language of a sentence follows from its words", () => {
  const kazakh = shareRight("kk-heldout.txt.br", "kazakh");
  const russian = shareRight("ru-heldout.txt.br", "russian");
  assert.ok(kazakh >= 0.99, `kazakh ${kazakh}`);
  assert.ok(russian >= 0.97, `russian ${russian}`);
});

test("the majority decides when languages are mixed", () => {
  assert.equal(majorityLanguage(wordsOf("мен бүгін магазинге барып хлеб сатып алдым")), "kazakh");
  assert.equal(majorityLanguage(wordsOf("я сегодня ходил в магазин и купил нан")), "russian");
});

test("a text without words has no language", () => {
  assert.equal(majorityLanguage([]), null);
});

test("an ambiguous word has no language", () => {
  assert.equal(wordLanguage("радио"), null);
  assert.equal(wordLanguage("қала"), "kazakh");
  assert.equal(wordLanguage("что"), "russian");
});

test("a Russian word that ends like a Kazakh one is not Kazakh", () => {
  for (const word of ["цветы", "годы", "минуты", "работа", "однажды"])
    assert.equal(wordLanguage(word), "russian");
  assert.equal(wordLanguage("да"), null);
  for (const line of ["да он пришёл", "он купил цветы", "цветы он принёс"])
    assert.equal(majorityLanguage(wordsOf(line)), "russian", line);
});
