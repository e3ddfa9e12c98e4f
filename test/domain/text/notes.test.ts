import assert from "node:assert/strict";
import { test } from "node:test";
import { corpusLines } from "../../../bench/support/corpora.js";
import { textNotes } from "../../../core/domain/text/notes.js";

test("notes a text with a Russian sentence, not Kazakh ones with Russian words", () => {
  for (const text of [
    "Сегодня хорошая погода.",
    "Сәлем! Как у тебя дела? Жақсы.",
    "Он работает в городе.",
    "Привет!",
    "МЫ ПОЕХАЛИ ДОМОЙ",
  ]) {
    assert.deepEqual(textNotes(text), ["russian_text"], text);
  }
  for (const text of [
    "Бала барады.",
    "Алма ал.",
    "Заявление жаздым, ответ жоқ.",
    "А. С. Пушкин — ақын.",
    "Банк",
    "Hello, world",
    "",
    "2024",
  ]) {
    assert.deepEqual(textNotes(text), [], text);
  }
});

test("notes unspeakable characters, except silent and invisible ones", () => {
  for (const text of ["Алма 🍎 алдым.", "漢字 сөз", "👍🏽", "Бұл שלום", "Ыстық ♨ су", "Гүл ❤️"]) {
    assert.deepEqual(textNotes(text), ["dropped_characters"], text);
  }
  assert.deepEqual(textNotes("Сегодня хорошая погода 😀"), ["russian_text", "dropped_characters"]);
  for (const text of [
    "«Абай» — 'роман', “кітап” (1942)…",
    "ғасыр\u00adдың сә\u200bлем\ufeff",
    "Бағасы 5 000 ₸, 15 %, №7, ±2 °C, 3 м²",
    "Ata-anam aýylda turady",
    "café, Əлем",
    "• нан\n• су\ttабыс",
  ]) {
    assert.deepEqual(textNotes(text), [], text);
  }
});

test("notes held-out Russian, not held-out Kazakh", (context) => {
  const share = (file: string) => {
    const lines = corpusLines(file);
    return lines.filter((line) => textNotes(line).includes("russian_text")).length / lines.length;
  };
  const shares = [share("ru-heldout.txt.br"), share("kk-heldout.txt.br"), share("mixed-heldout.txt.br")];
  context.diagnostic(`Russian ${shares[0]}, Kazakh ${shares[1]}, mixed ${shares[2]}`);
  assert.ok(shares[0]! >= 0.97 && shares[1]! <= 0.002 && shares[2]! <= 0.03, shares.join(" "));
});
