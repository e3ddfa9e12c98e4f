import assert from "node:assert/strict";
import { test } from "node:test";
import { listenText, listenWords, plainWord } from "../../core/protocol/listen-words.js";

const SAID = ["он", "тоқсаныншы", "жылдары", "[PHONE]"].map((word, nth) => {
  return { word, start: nth, end: nth + 0.12345, confidence: 0.5 + nth / 10 };
});
const READABLE = [
  { word: "Он,", start: 0, end: 0.12345, spoken: [0, 1] },
  { word: "90-", start: 1, end: 1.12345, spoken: [1, 2] },
  { word: "жылдары", start: 2, end: 2.12345, spoken: [2, 3] },
  { word: "[PHONE].", start: 3, end: 3.12345, spoken: [3, 4] },
] as const;

test("displayed words have punctuation; without it they are lower case", () => {
  const words = listenWords(SAID, READABLE, true);
  assert.deepEqual(words[0], {
    ...{ word: "он", start: 0, end: 0.123, confidence: 0.5 },
    punctuated_word: "Он,",
  });
  assert.equal(listenText(words), "Он, 90-жылдары [PHONE].");
  const plain = listenWords(SAID, READABLE, false);
  assert.equal(listenText(plain), "он 90-жылдары [PHONE]");
  assert.ok(plain.every((word) => !("punctuated_word" in word)));
});

test("a displayed word has the lowest confidence of its spoken words", () => {
  const readable = [{ word: "2000", start: 0, end: 1, spoken: [1, 3] as const }];
  assert.equal(listenWords(SAID, readable, true)[0]!.confidence, 0.6);
});

test("a plain transcript keeps its words; those without a confidence get 0", () => {
  const words = listenWords([...SAID, { word: "соң", start: 5, end: 6 }], null, true);
  assert.equal(listenText(words), "он тоқсаныншы жылдары [PHONE] соң");
  assert.deepEqual(
    words.map(({ confidence }) => confidence),
    [0.5, 0.6, 0.7, 0.8, 0],
  );
});

for (const [text, word] of [
  ["Сөз —", "сөз"],
  ["«Қазақстан»,", "қазақстан"],
  ["кешке-", "кешке"],
  ["90-", "90-"],
  ["14:30,", "14:30"],
  ["15 %.", "15 %"],
  ["…", "…"],
] as const) {
  test(`the plain form of "${text}" is "${word}"`, () => assert.equal(plainWord(text), word));
}
