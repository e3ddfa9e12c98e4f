import assert from "node:assert/strict";
import { test } from "node:test";
import { dictionaryOf } from "../../../../core/domain/text/kazakh/dictionary.js";
import { normalizeKazakh } from "../../../../core/domain/text/kazakh/normalize.js";
import {
  growthBy,
  soughtWord,
  spokenPronunciation,
} from "../../../../core/domain/text/kazakh/pronunciations.js";
import * as fc from "../../../support/properties.js";
import { assertMapped } from "./word-map.js";

type Words = Readonly<Record<string, string>>;

function dictionary(words: Words) {
  return dictionaryOf(
    Object.entries(words).map(([word, say]) => ({
      word: soughtWord(word),
      spoken: spokenPronunciation(say),
    })),
  )!;
}

const said = (text: string, words: Words, expand = true) =>
  normalizeKazakh(text, { expand, dictionary: dictionary(words) }).spoken;

test("whole words follow the dictionary, in any case and with look-alike letters", () => {
  const words = { Kaspi: "каспий" };
  for (const text of ["Kaspi", "KASPI", "kaspi", "«Kaspi»", "К\u0430spi", "(Kaspi)"]) {
    assert.equal(said(text, words).replace(",", ""), "каспий", text);
  }
  for (const text of ["Kaspiyl", "MyKaspi", "Kaspi5"]) assert.doesNotMatch(said(text, words), /каспий/, text);
});

test("endings after a hyphen stay with the word", () => {
  const words = { Kaspi: "каспи", "Kaspi Bank": "каспи банк", "AT&T": "эй ти энд ти" };
  assert.equal(said("Kaspi-ге бардым.", words), "каспиге бардым.");
  assert.equal(said("kaspi bank-тің қосымшасы", words), "каспи банктің қосымшасы");
  assert.equal(said("AT&T-дің", words), "эй ти энд тидің");
  assert.equal(said("Kaspi-клуб", words), "каспи-клуб");
});

test("the longest word wins, even across line ends", () => {
  const words = { Kaspi: "каспи", "Kaspi Bank": "каспий банкісі" };
  assert.equal(said("Kaspi Bank, Kaspi", words), "каспий банкісі, каспи");
  assert.equal(said("Kaspi\nbank", words), "каспий банкісі");
});

test("the dictionary takes precedence over all rules", () => {
  const words = {
    жылы: "жылында",
    км: "шақырым",
    "проф.": "профессор мырза",
    Қазақстан: "қазағыстан",
    его: "иго",
  };
  assert.equal(said("2024 жылы 10 км", words), "екі мың жиырма төртінші жылында он шақырым");
  assert.equal(said("проф. Ахметов", words), "профессор мырза ахметов");
  assert.equal(said("Менің елім, Қазақстан, менің", words), "менің елім, қазағыстан, менің");
  assert.equal(said("Қазақстанның", words), "қазақстанның");
  assert.equal(normalizeKazakh("его", { expand: true }).spoken, "ево");
  assert.equal(said("его", words), "иго");
});

test("does not match a number inside another", () => {
  assert.equal(said("5 15 1,5 5.", { 5: "бесеу" }), "бесеу он бес бір бүтін оннан бес бесеу.");
});

test("an address is read as one, with names from the dictionary", () => {
  const words = { Kaspi: "каспий", "dauys.kz": "дауыс сайты" };
  assert.equal(said("https://kaspi.kz/a", words), "каспий нүкте кей зед қиғаш сызық эй");
  assert.equal(said("info@kaspi.kz, dauys.kz", words), "инфо ат белгісі каспий нүкте кей зед, дауыс сайты");
});

test("dictionary words also apply without expansion", () => {
  assert.equal(said("Kaspi 2024", { Kaspi: "каспий" }, false), "каспий");
});

test("pronunciations are normalized, without punctuation", () => {
  assert.equal(spokenPronunciation("Каспи!"), "каспи");
  assert.equal(spokenPronunciation("5G, бес джи"), "бес джи бес джи");
  assert.equal(spokenPronunciation("😀."), "");
  assert.equal(soughtWord(" «Kaspi  Bank» "), "Kaspi Bank");
  for (const word of ["😀", ".", " , ", "—"]) assert.equal(soughtWord(word), "", word);
  assert.equal(soughtWord("C++"), "C++");
});

test("dictionary words have the range of their written form", () => {
  const text = "Бүгін «Kaspi»-ге 5 кісі, Kaspi  Bank-ке екі кісі келді.";
  const { spoken, words } = normalizeKazakh(text, {
    expand: true,
    dictionary: dictionary({ Kaspi: "каспи", "Kaspi Bank": "каспи банк" }),
  });
  assert.deepEqual(
    words.map(({ spokenStart, spokenEnd, start, end }) => [
      spoken.slice(spokenStart, spokenEnd),
      text.slice(start, end),
    ]),
    [
      ["бүгін", "Бүгін"],
      ["каспиге", "Kaspi»-ге"],
      ["бес", "5"],
      ["кісі", "кісі"],
      ["каспи", "Kaspi  Bank-ке"],
      ["банкке", "Kaspi  Bank-ке"],
      ["екі", "екі"],
      ["кісі", "кісі"],
      ["келді", "келді"],
    ],
  );
});

test("the growth of a text is counted", () => {
  const words = dictionary({ а: "бәрі", Kaspi: "к" });
  assert.equal(growthBy(words, "а, А-да! ба kaspi"), 3 + 2 - 4);
});

const written = fc.constantFrom(
  ...["Kaspi", "kaspi-ге", "бас", "Б.", "2024", "жылы", "т.б.", "5", "%", "км", "C++", "😀", "ʼ", "\u0301"],
  ...[
    "info@kaspi.kz",
    "-",
    " ",
    ". ",
    "\n",
    ",",
    "ж.",
    "Қазақстан",
    "мыс",
    "ҚР-ның",
    "$3,5 млн",
    "+7 701 123 45 67",
  ],
);
const anyText = fc.array(written, { maxLength: 12 }).map((parts) => parts.join(""));
const anyWords = fc
  .uniqueArray(fc.tuple(fc.oneof(written, anyText), fc.constantFrom("каспи", "б", "т.б.", "ж", "5", "ab")), {
    maxLength: 6,
    selector: ([word]) => soughtWord(word).toLowerCase(),
  })
  .map((entries) => entries.filter(([word]) => soughtWord(word) !== ""));

test("any dictionary gives mapped words in the voice's characters, without losses", () => {
  fc.assert(
    fc.property(anyText, anyWords, fc.boolean(), (text, entries, expand) => {
      const words = dictionaryOf(
        entries.map(([word, say]) => ({ word: soughtWord(word), spoken: spokenPronunciation(say) })),
      );
      const result = normalizeKazakh(text, { expand, dictionary: words });
      assertMapped(text, result);
      assert.match(result.spoken, /^(?:[а-яёәғқңөұүһі][а-яёәғқңөұүһі ,.!?:;—-]*)?$/);
      const again = normalizeKazakh(result.spoken, { expand });
      assert.deepEqual([again.spoken, again.dropped], [result.spoken, []]);
    }),
    { numRuns: 2_000 },
  );
});
