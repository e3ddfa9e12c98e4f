import assert from "node:assert/strict";
import { test } from "node:test";
import { normalizeKazakh } from "../../../../core/domain/text/kazakh/normalize.js";
import { spokenSentences } from "../../../../core/domain/text/spoken-sentences.js";

/** Returns each spoken word with its written text. */
function wordPairs(text: string): string[] {
  const { spoken, words } = normalizeKazakh(text, { expand: true });
  return words.map(
    (word) => `${spoken.slice(word.spokenStart, word.spokenEnd)}<${text.slice(word.start, word.end)}`,
  );
}

test("a word spoken as written has its own range", () => {
  assert.deepEqual(wordPairs("«Ата-ана», сәлем!"), ["ата-ана<Ата-ана", "сәлем<сәлем"]);
});

test("all words of a number, date or sum have the range of its written form", () => {
  assert.deepEqual(wordPairs("15%-ға өсті"), ["он<15%-ға", "бес<15%-ға", "пайызға<15%-ға", "өсті<өсті"]);
  assert.deepEqual(wordPairs("$5 бар"), ["бес<$5", "доллар<$5", "бар<бар"]);
  assert.deepEqual(wordPairs("2-3 күн"), ["екі-үш<2-3", "күн<күн"]);
});

test("ranges refer to the original text despite composed, repaired and dropped characters", () => {
  assert.deepEqual(wordPairs("😀 та\u0438\u0306 5 ㎏-ға"), [
    "тай<та\u0438\u0306",
    "бес<5 ㎏-ға",
    "килограмға<5 ㎏-ға",
  ]);
  assert.deepEqual(wordPairs("сә\u200bлем Aлмaты…"), ["сәлем<сә\u200bлем", "алматы<Aлмaты"]);
  assert.deepEqual(wordPairs("О\u2019Коннор"), ["оконнор<О\u2019Коннор"]);
});

test("a second pass keeps the ranges of the first", () => {
  assert.deepEqual(wordPairs("мыс 😀. алма"), ["мысалы<мыс", "алма<алма"]);
});

test("words of pieces and sentences are found in the whole text", () => {
  const text = `Бірінші сөйлем. 2024 жылы ${"құстар ұшып келді, ".repeat(20)}бәрі бітті. 😀!\nСоңы.`;
  const sentences = spokenSentences(text, { expand: true });
  assert.equal(sentences.map(({ start, end }) => text.slice(start, end)).join(""), text);
  const found = sentences.flatMap(({ pieces }) =>
    pieces.flatMap((piece) =>
      piece.words.map((word) => [
        piece.text.slice(word.spokenStart, word.spokenEnd),
        text.slice(word.start, word.end).toLowerCase(),
      ]),
    ),
  );
  assert.ok(sentences.some(({ pieces }) => pieces.length > 2));
  assert.deepEqual(
    found.filter(([spoken, written]) => spoken !== written),
    ["екі", "мың", "жиырма", "төртінші"].map((word) => [word, "2024"]),
  );
  assert.equal(found.length, 2 + 5 + 60 + 2 + 1);
  assert.deepEqual(
    sentences.flatMap(({ dropped }) => dropped),
    [text.indexOf("😀")],
  );
});

test("a word longer than a piece is in each piece with a part of it", () => {
  const text = `${"а".repeat(400)} соңы`;
  const pieces = spokenSentences(text, { expand: true }).flatMap((sentence) => sentence.pieces);
  for (const { words, text: spoken } of pieces) {
    assert.ok(words.length > 0);
    for (const { spokenStart, spokenEnd } of words) {
      assert.ok(spokenStart >= 0 && spokenStart < spokenEnd && spokenEnd <= spoken.length);
    }
  }
  assert.equal(pieces.filter(({ words }) => words[0]?.start === 0).length, 3);
});
