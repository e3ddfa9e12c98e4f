import assert from "node:assert/strict";
import { test } from "node:test";
import { normalizeKazakh } from "../../../../core/domain/text/kazakh/normalize.js";
import { cardinal } from "../../../../core/domain/text/kazakh/numerals.js";
import * as fc from "../../../support/properties.js";

const spoken = (text: string) => normalizeKazakh(text, { expand: true }).spoken;

/** Sounds of a numeral's last word, listed word by word instead of derived from phonetic rules. */
const FRONT = new Set("нөл бір екі үш төрт бес жеті сегіз елу жетпіс сексен жүз".split(" "));
const VOWEL_ENDED = new Set("екі алты жеті жиырма елу".split(" "));
const VOICELESS_ENDED = new Set("үш төрт бес қырық алпыс жетпіс миллиард".split(" "));
/** Its last letter acts as half a consonant: елудің, елуді. */
const isVowelEnded = (word: string) => VOWEL_ENDED.has(word) && word !== "елу";
const NASAL_ENDED = new Set("он тоқсан сексен мың миллион триллион".split(" "));
const SIBILANT_ENDED = new Set("сегіз тоғыз отыз жүз".split(" "));

interface Ending {
  readonly name: string;
  /** Forms that a user may write. Each is correct for some other numeral. */
  readonly written: readonly string[];
  readonly expected: (word: string) => string;
}

const low = (word: string) => (FRONT.has(word) ? "е" : "а");
const high = (word: string) => (FRONT.has(word) ? "і" : "ы");
const stop = (word: string) => (VOICELESS_ENDED.has(word) ? "т" : "д");
const liquid = (word: string) => {
  if (VOICELESS_ENDED.has(word)) return "т";
  return VOWEL_ENDED.has(word) || word === "бір" ? "л" : "д";
};
const ENDINGS: readonly Ending[] = [
  {
    name: "genitive",
    written: ["ның", "нің", "дың", "дің", "тың", "тің"],
    expected: (word) => {
      const begin = isVowelEnded(word) || NASAL_ENDED.has(word) ? "н" : stop(word);
      return `${begin}${high(word)}ң`;
    },
  },
  {
    name: "dative",
    written: ["ға", "ге", "қа", "ке"],
    expected: (word) => {
      const isFront = FRONT.has(word);
      if (VOICELESS_ENDED.has(word)) return isFront ? "ке" : "қа";
      return isFront ? "ге" : "ға";
    },
  },
  {
    name: "accusative",
    written: ["ны", "ні", "ды", "ді", "ты", "ті"],
    expected: (word) => (isVowelEnded(word) ? "н" : stop(word)) + high(word),
  },
  {
    name: "locative",
    written: ["да", "де", "та", "те"],
    expected: (word) => stop(word) + low(word),
  },
  {
    name: "ablative",
    written: ["дан", "ден", "тан", "тен", "нан", "нен"],
    expected: (word) => `${NASAL_ENDED.has(word) ? "н" : stop(word)}${low(word)}н`,
  },
  {
    name: "instrumental",
    written: ["мен", "бен", "пен"],
    expected: (word) => {
      if (VOICELESS_ENDED.has(word)) return "пен";
      return SIBILANT_ENDED.has(word) ? "бен" : "мен";
    },
  },
  {
    name: "about so many",
    written: ["дай", "дей", "тай", "тей"],
    expected: (word) => `${stop(word)}${low(word)}й`,
  },
  {
    name: "so many at a time",
    written: ["дап", "деп", "тап", "теп", "лап", "леп"],
    expected: (word) => `${liquid(word)}${low(word)}п`,
  },
  {
    name: "so many and more",
    written: ["даған", "деген", "таған", "теген", "лаған", "леген"],
    expected: (word) => `${liquid(word)}${FRONT.has(word) ? "еген" : "аған"}`,
  },
  {
    name: "plural",
    written: ["дар", "дер", "тар", "тер", "лар", "лер"],
    expected: (word) => `${liquid(word)}${low(word)}р`,
  },
];

/** Numbers that end in each of the numerals. */
const LAST_WORDS = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 1_000, 1_000_000, 1_000_000_000,
];

function assertEnding(value: number, { name, written, expected }: Ending, form: string): void {
  const words = cardinal(String(value)).split(" ");
  const last = words.at(-1)!;
  // "Миллиондаған" has no "бір" before it.
  const isBare = /^(?:so many)/.test(name) && words.length === 2 && words[0] === "бір" && value >= 1_000_000;
  const said = (isBare ? [last] : words).join(" ") + expected(last);
  assert.ok(written.includes(form));
  assert.equal(spoken(`${value}-${form}`), said, `${value}-${form}`);
}

for (const ending of ENDINGS) {
  test(`numerals take the ${ending.name} by their own sounds, whichever form is written`, () => {
    for (const value of LAST_WORDS) for (const form of ending.written) assertEnding(value, ending, form);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), fc.constantFrom(...ending.written), (value, form) =>
        assertEnding(value, ending, form),
      ),
    );
  });
}

test("an ending without a hyphen, or after a space, belongs to its number", () => {
  for (const [written, said] of [
    ["5ке дейін", "беске дейін"],
    ["11:30да", "он бір отызда"],
    ["20:00 ге дейін", "жиырмаға дейін"],
    ["Екатерина II -нің", "екатерина екіншінің"],
    ["5 те бар", "бес те бар"],
  ] as const) {
    assert.equal(spoken(written), said);
  }
});
