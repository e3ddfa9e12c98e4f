import assert from "node:assert/strict";
import { test } from "node:test";
import { readAsWritten } from "../../../core/domain/text/as-written.js";
import { dictionaryOf } from "../../../core/domain/text/kazakh/dictionary.js";
import { spokenSentences } from "../../../core/domain/text/spoken-sentences.js";

test("keeps digits, capitals and symbols for the voice to read", () => {
  const text = "Цена  выросла\nна 15% — до 2 500 ₽ (т.е. вдвое)!";
  assert.equal(readAsWritten(text, {}).spoken, "Цена выросла на 15% — до 2 500 ₽ (т.е. вдвое)!");
});

test("leaves out and counts unspeakable characters, except invisible marks", () => {
  const { spoken, dropped } = readAsWritten("да\u0000 не\u00adт \ue000", {});
  assert.equal(spoken, "да нет");
  assert.deepEqual(dropped, [2, 9]);
  assert.deepEqual(readAsWritten("— …!", {}), { spoken: "", words: [], dropped: [] });
});

test("every word has its written range, even if a dictionary replaces it", () => {
  const dictionary = dictionaryOf([{ word: "DNS", spoken: "дэ эн эс" }]);
  const text = "Наш DNS,  друг.";
  const { spoken, words } = readAsWritten(text, { dictionary });
  assert.equal(spoken, "Наш дэ эн эс, друг.");
  assert.deepEqual(
    words.map(({ spokenStart, spokenEnd, start, end }) => [
      spoken.slice(spokenStart, spokenEnd),
      text.slice(start, end),
    ]),
    [
      ["Наш", "Наш"],
      ["дэ", "DNS"],
      ["эн", "DNS"],
      ["эс", "DNS"],
      ["друг.", "друг."],
    ],
  );
});

test("sentences, pauses and pieces work as in every text", () => {
  const text = "Привет. Как дела? [pause 500ms] Вот 3 слова.";
  const sentences = spokenSentences(text, { expand: true, reader: "as-written" });
  assert.deepEqual(
    sentences.map(({ pieces, pauseMs }) => [pieces.map((piece) => piece.text).join("|"), pauseMs]),
    [
      ["Привет.", null],
      ["Как дела?", 500],
      ["Вот 3 слова.", null],
    ],
  );
});
