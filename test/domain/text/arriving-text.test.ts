import assert from "node:assert/strict";
import { test } from "node:test";
import {
  firstClause,
  firstSentence,
  LONGEST_OPEN_SENTENCE,
} from "../../../core/domain/text/arriving-text.js";
import { splitIntoSentences } from "../../../core/domain/text/sentences.js";
import * as fc from "../../support/properties.js";

/** Returns the sentences of a text that arrives in pieces, in the order in which they are cut. */
function arriving(pieces: readonly string[]): string[] {
  const sentences: string[] = [];
  let waiting = "";
  const take = (isWhole: boolean) => {
    for (let text = firstSentence(waiting, isWhole); text; text = firstSentence(waiting, isWhole)) {
      sentences.push(text);
      waiting = waiting.slice(text.length);
    }
  };
  for (const piece of pieces) {
    waiting += piece;
    take(false);
  }
  take(true);
  return sentences;
}

test("a sentence is complete with the next word, or with a space after its mark", () => {
  for (const [text, first] of [
    ["Сәлем", null],
    ["Сәлем.", null],
    ["Сәлем. ", "Сәлем. "],
    ["Сәлем. Қал", null],
    ["Сәлем. Қалай ", "Сәлем. "],
    ["Рас па? Иә ", "Рас па? "],
    ["«Тоқта!» ", null],
    ["«Тоқта!» деп ", null],
    ["Бағасы 3.", null],
    ["Бағасы 3.5 теңге", null],
    ["2024 ж. ", null],
    ["ҚР Қаржы мин. ", null],
    ["Абай к. ", null],
    ["Бір\nЕкі үш", "Бір\n"],
    ["", null],
  ] as const) {
    assert.equal(firstSentence(text, false), first, text);
  }
});

test("a flush completes the remaining text", () => {
  assert.equal(firstSentence("Сәлем", true), "Сәлем");
  assert.equal(firstSentence("Сәлем. Қал", true), "Сәлем. ");
  assert.equal(firstSentence("Қал", true), "Қал");
});

const TEXTS = [
  "Сәлеметсіз бе! Бүгін 2024 ж. 12 мамыр. Бағасы 3.5 теңге, т.б. шығындар бар. Абай к. 55 үйде.",
  "— Қайда? — деді ол. «Тоқта!» деп айқайлады. Содан кейін кетті… Иә. Жоқ.\nЖаңа жол.\n\nЕкінші абзац.",
  "Привет! Как дела? Всё хорошо. И т. д. Конец",
];

test("text in pieces of any size gives all of its characters, each once, in order", () => {
  const cut = fc
    .constantFrom(...TEXTS)
    .chain((text) => fc.tuple(fc.constant(text), fc.array(fc.nat({ max: text.length }), { maxLength: 40 })));
  fc.assert(
    fc.property(cut, ([text, at]) => {
      const ends = [...at.toSorted((a, b) => a - b), text.length];
      const pieces = ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
      assert.equal(arriving(pieces).join(""), text);
    }),
  );
});

test("text that arrives by letters, or by words with the space first, has the same sentences as the whole", () => {
  for (const text of TEXTS) {
    // An empty line may belong to the sentence after it.
    const trimmed = (sentences: readonly string[]) => sentences.map((sentence) => sentence.trim());
    const expected = trimmed(splitIntoSentences(text));
    assert.deepEqual(trimmed(arriving(text.match(/\s*\S+/gu)!)), expected, text);
    assert.deepEqual(trimmed(arriving([...text])), expected, text);
  }
});

test("punctuation and emoji belong to the following sentence, and are cut only if they are long", () => {
  assert.equal(firstSentence("… 😀. ! ? ", false), null);
  assert.equal(firstSentence("… 😀. Сәлем. Қалай ", false), "… 😀. Сәлем. ");
  assert.equal(firstSentence("5 %. Ал енді ", false), "5 %. ");
  assert.equal(firstSentence("! ? ", true), "! ? ");
  assert.ok(firstSentence("! ? ".repeat(500), false)!.length > 900);
});

test("text without a sentence end is cut at a space, never inside a character", () => {
  const long = "сөз ".repeat(1_000);
  const first = firstSentence(long, false)!;
  assert.ok(first.length <= LONGEST_OPEN_SENTENCE && first.endsWith(" "));
  const emoji = "😀".repeat(1_000);
  const cut = `a${emoji}`;
  assert.ok(firstSentence(cut, false)!.isWellFormed());
  assert.equal(arriving([long]).join(""), long);
  assert.equal(arriving([cut]).join(""), cut);
});

test("an early clause is long, ends between words, and its next word is complete", () => {
  const long = "Бүгін таңертең ауа райы өте жақсы болады";
  for (const mark of [", ", "; ", ": ", " — ", "», "]) {
    assert.equal(firstClause(`${long}${mark}ал`), null, mark);
    assert.equal(firstClause(`${long}${mark}ал кешке `), `${long}${mark}`, mark);
  }
  assert.equal(firstClause(`${long} 5, 6 және 7 кг, ал кешке `), `${long} 5, 6 және 7 кг, `);
  assert.equal(firstClause("Жоқ, бүгін болмайды "), null);
  assert.equal(firstClause(`${long} т.б., сол сияқты `), null);
  assert.equal(firstClause(`${"сөз ".repeat(400)}сөз, ал енді `), null);
});
