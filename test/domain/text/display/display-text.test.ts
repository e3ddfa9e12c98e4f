import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type DisplayOptions,
  displayedWords,
  displayLine,
} from "../../../../core/domain/text/display/display-text.js";
import {
  type Case,
  decidePunctuation,
  MARKS,
  type Mark,
} from "../../../../core/domain/text/display/marks.js";
import { writeWordFeatures } from "../../../../core/domain/text/display/word-features.js";

/** Joins displayed words. */
const lineOf = (displayed: readonly { readonly text: string }[]) =>
  displayLine(displayed.map(({ text }) => text));

const SAID = "он пятнадцатого марта две тысячи двадцать шестого года заплатил сто тысяч тенге";

/** Punctuation after words, and capitals, by word. */
function shown(
  text: string,
  marks: Readonly<Record<string, Mark>>,
  cases: Readonly<Record<string, Case>> = {},
  options: Partial<DisplayOptions> = {},
): string {
  const words = text.split(" ");
  const punctuation = {
    marks: words.map((word): Mark => marks[word] ?? ""),
    cases: words.map((word): Case => cases[word] ?? "lower"),
    stops: [],
  };
  return lineOf(displayedWords(words, punctuation, { numerals: "auto", ...options })).replace(/\u00a0/g, " ");
}

test("writes digits, the first capital and the model's punctuation", () => {
  assert.equal(shown(SAID, { тенге: "." }), "Он 15 марта 2026 года заплатил 100 000 тенге.");
});

test("a sentence after a stop starts with a capital, one after a comma does not", () => {
  assert.equal(shown("сәлем достар қалай", { сәлем: ",", достар: ".", қалай: "?" }), "Сәлем, достар. Қалай?");
});

test("writes names, abbreviations, hyphens and dashes as the model predicts", () => {
  const marks = { қасым: "-", тоқаев: "—", президент: "." } as const;
  const cases = { қасым: "capital", жомарт: "capital", тоқаев: "capital", ақш: "upper" } as const;
  assert.equal(
    shown("қасым жомарт тоқаев президент ақш", marks, cases),
    "Қасым-Жомарт Тоқаев — президент. АҚШ",
  );
});

test("an open end has no final punctuation, and a continued sentence no capital", () => {
  assert.equal(shown("мен келдім", { келдім: "." }, {}, { isOpen: true }), "Мен келдім");
  assert.equal(shown("мен келдім", { келдім: "." }, {}, { isContinued: true }), "мен келдім.");
});

test("punctuation after a number's last word follows its digits", () => {
  assert.equal(shown("жүз жиырма мың бала", { мың: ",", бала: "?" }), "120 000, бала?");
});

test("digits start a sentence, end one, and get no hyphen from the model", () => {
  assert.equal(shown("жүз жиырма адам келді", { келді: "." }), "120 адам келді.");
  assert.equal(shown("олар жүз жиырма сосын келді", { жиырма: "." }), "Олар 120. Сосын келді");
  assert.equal(shown("бізде жиырма бес адам", { бес: "-" }), "Бізде 25 адам");
  assert.equal(shown("тоқсаныншы жылдары туған", { туған: "." }), "90-жылдары туған.");
});

test("an empty text and one word are displayed", () => {
  assert.equal(shown("", {}), "");
  assert.equal(shown("сәлем", { сәлем: "." }), "Сәлем.");
  assert.equal(shown("ёлка", { ёлка: "?" }), "Ёлка?");
});

test("displayed words cover every spoken word once", () => {
  let at = 0;
  for (const { first, end } of displayedWords(SAID.split(" "), null, { numerals: "auto" })) {
    assert.equal(first, at);
    at = end;
  }
  assert.equal(at, SAID.split(" ").length);
});

test("without a model, only numbers and the first letter change", () => {
  const words = "жүз жиырма адам келді".split(" ");
  assert.equal(lineOf(displayedWords(words, null, { numerals: "auto" })), "120 адам келді");
  assert.equal(lineOf(displayedWords(["сәлем", "достар"], null, { numerals: "none" })), "Сәлем достар");
});

test("chooses the best punctuation, case and sentence end for each word", () => {
  const marks = new Float32Array(2 * MARKS.length);
  marks[1] = 3;
  marks[MARKS.length + 3] = 3;
  const cases = Float32Array.of(0, 2, 0, 2, 0, 0);
  const decided = decidePunctuation(marks, cases);
  assert.deepEqual(decided.marks, [",", "?"]);
  assert.deepEqual(decided.cases, ["capital", "lower"]);
  assert.deepEqual(decided.stops, [".", "?"]);
});

test("word features equal those of the recipe", () => {
  const features = new Int32Array(10);
  writeWordFeatures("тёплый", features, 0);
  // Computed by models/recipes/punctuation/model.py: features("теплый").
  assert.deepEqual([...features], RECIPE_FEATURES);
});

const RECIPE_FEATURES = [5417, 30615, 19974, 10875, 21696, 21729, 1942, 12619, 11580, 1925];
