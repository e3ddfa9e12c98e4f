import assert from "node:assert/strict";
import { test } from "node:test";
import { writtenFigures } from "../../../../core/domain/text/figures/figures.js";
import { maskedPieces, maskedText, maskedWords } from "../../../../core/domain/text/redaction/masks.js";
import { redact } from "../../../../core/domain/text/redaction/redact.js";

const SPOKEN = "нөмірім сегіз жеті жүз бір жүз жиырма үш қырық бес алпыс жеті хабарлас".split(" ");
const FOUND = redact(SPOKEN, ["phone"]);

test("masks pieces of the display text", () => {
  const pieces = writtenFigures(SPOKEN, "auto");
  const texts = maskedPieces(pieces, FOUND).map(({ text }) => text);
  assert.deepEqual(texts, ["нөмірім", "[PHONE]", "хабарлас"]);
});

test("a piece that shares a word with a redaction is masked as a whole", () => {
  const pieces = [
    { text: "a", first: 0, end: 1 },
    { text: "bcd,", first: 1, end: 4 },
    { text: "e.", first: 4, end: 5 },
    { text: "f", first: 5, end: 6 },
  ];
  const masked = maskedPieces(pieces, [
    { kind: "iin", first: 3, end: 5 },
    { kind: "card", first: 5, end: 6 },
  ]);
  assert.deepEqual(masked, [
    { text: "a", first: 0, end: 1 },
    { text: "[IIN].", first: 1, end: 5 },
    { text: "[CARD]", first: 5, end: 6 },
  ]);
});

test("a mask lasts as long as the words it hides", () => {
  const words = SPOKEN.map((word, at) => ({
    word,
    start: at,
    end: at + 0.5,
    confidence: at === 3 ? 0.4 : 0.9,
  }));
  const masked = maskedWords(words, FOUND, (hidden) => ({
    ...hidden[0]!,
    confidence: Math.min(...hidden.map(({ confidence }) => confidence)),
  }));
  assert.deepEqual(masked, [words[0], { word: "[PHONE]", start: 1, end: 11.5, confidence: 0.4 }, words[12]]);
});

test("masks a text but keeps the surrounding white space and punctuation", () => {
  const text = "Нөмірім  8 701\n123 45 67, хабарлас.";
  assert.equal(maskedText(text, [{ kind: "phone", first: 1, end: 6 }]), "Нөмірім  [PHONE], хабарлас.");
  assert.equal(maskedText(text, []), text);
  assert.throws(() => maskedText("бір", [{ kind: "iin", first: 0, end: 2 }]), RangeError);
});
