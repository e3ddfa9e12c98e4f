import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { normalizeKazakh } from "../../../../core/domain/text/kazakh/normalize.js";
import { cardinal, ordinal } from "../../../../core/domain/text/kazakh/numerals.js";
import * as fc from "../../../support/properties.js";
import { tableRows } from "./fixtures.js";
import { assertMapped } from "./word-map.js";

/** Symbols of the text encoder, except its special ones. */
const SYMBOLS = new Set<string>(
  JSON.parse(readFileSync("models/svc-kk-v1/symbols.json", "utf8")).symbols.filter(
    (symbol: string) => symbol.length === 1 && !"^$".includes(symbol),
  ),
);
const A_LETTER = /[а-яёәғқңөұүһі]/;

const fragments = fc.constantFrom(
  "Қазақстан",
  "қ.",
  "т.б.",
  "мыс.",
  "а.",
  "А.",
  "АҚШ-тың",
  "ҚМДБ",
  "5",
  "15%",
  "2024",
  "жылы",
  "ж.",
  "жж.",
  "05.05.2024",
  "14:30",
  "№5",
  "ХХІ",
  "IV",
  "ғ.",
  "Google",
  "iPhone-ға",
  "Qazaqstan",
  "«",
  "»",
  "(",
  ")",
  "—",
  "-",
  "–",
  "...",
  "…",
  ".",
  ",",
  "!",
  "?",
  ":",
  ";",
  "\n",
  "\n\n",
  " ",
  "₸",
  "$3,5",
  "млн",
  "км/сағ",
  "м²",
  "°C",
  "½",
  "1/2",
  "+7",
  "😀",
  "\u200b",
  "é",
  "ə",
  "ї",
  "漢",
  "/",
  "&",
  "@",
  "#",
  "*",
  "_",
  "-ға",
  "-тен",
  "сағ.",
  "проф.",
  "б.з.б.",
  "шағын ауд.",
  "\u0301",
  "Aлматы",
  "что",
  "его",
  "в",
  "мм",
  "кг",
  "б)",
  "10⁶",
  "⅛",
  "1/2",
  "1.234",
  "12.05",
  "3:1",
  "/кг",
  "info@mail.kz",
  "https://dauys.kz/a?b=1",
  "#Тег",
  "USD 5",
  "٢٠",
  "2О24",
  "ҰҚК-ң",
  "т.ғ.д.",
  "+77011234567",
  "Gооgle",
  "≈",
  "·",
  "'",
  "3.1-тармақ",
  "ж. б.",
  "т.б.-дан",
  "Абай к-сі",
  "ун-ті",
  "ш/а",
  "ХШ ғ.",
  "І",
  "V",
  "X-XII",
  "б.з.д.",
  "-таған",
  "60-лап",
  " ге",
  "1990–95",
  "жж.",
  "таңғы 7.45",
  "ЖОО-лар",
  "ҚазҰУ",
  "а)",
  "2)",
  "тармақшасы",
  "Qazaq",
  "tili",
  "jańa",
  "ja'ne",
  "qūtty",
  "ıgilik",
  "Sh.",
  "KZ86125KZT5004100100",
  "ф.-м.ғ.д.",
  "ғ-дың",
  "м-н",
  "С-300",
);
/**
 * Characters that are between a letter and a sign, alone and among fragments: modifier letters, marks,
 * numbers, and characters that compose to others.
 */
const oddCharacters = Array.from({ length: 0x1_1000 }, (_, codePoint) =>
  String.fromCodePoint(codePoint),
).filter(
  (character) =>
    /[\p{Lm}\p{Lt}\p{Sk}\p{M}\p{N}\p{Cf}\p{Co}]/u.test(character) ||
    (character.normalize("NFC") !== character && !/\p{Cs}/u.test(character)),
);
const oddities = fc.array(fc.oneof(fc.constantFrom(...oddCharacters), fragments), { maxLength: 8 });
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.array(fragments, { maxLength: 14 }).map((parts) => parts.join("")),
  fc.array(fragments, { maxLength: 14 }).map((parts) => parts.join(" ")),
  oddities.map((parts) => parts.join("")),
);
const anyOptions = fc.record({ expand: fc.boolean() });

test("any input gives only the model's characters", () => {
  fc.assert(
    fc.property(anyText, anyOptions, (text, options) => {
      const { spoken, dropped } = normalizeKazakh(text, options);
      for (const character of spoken) assert.ok(SYMBOLS.has(character), `${text}: ${character}`);
      assert.ok(spoken === "" || A_LETTER.test(spoken), "text without a letter");
      assert.doesNotMatch(spoken, / {2}|^ | $/);
      assert.ok(dropped.length <= [...text].length);
    }),
    { numRuns: 3_000 },
  );
});

test("every letter and digit is in the range of a spoken word, or dropped", () => {
  fc.assert(
    fc.property(anyText, anyOptions, (text, options) => assertMapped(text, normalizeKazakh(text, options))),
    { numRuns: 3_000 },
  );
});

test("letters used as quotation marks are reported as dropped", () => {
  // U+0374 composes to U+02B9.
  for (const letter of ["ʹ", "ʺ", "ʻ", "ʼ", "\u0374"]) {
    for (const expand of [false, true]) {
      const results = [
        letter,
        `${letter}сөз${letter}`,
        `сөз ${letter} сөз`,
        `сө${letter}з`,
        `${letter}\u0301`,
      ];
      for (const text of results) assertMapped(text, normalizeKazakh(text, { expand }));
    }
  }
  assert.deepEqual(normalizeKazakh("\u0374", { expand: false }), { spoken: "", words: [], dropped: [0] });
});

test("spoken text stays unchanged", () => {
  fc.assert(
    fc.property(anyText, anyOptions, (text, options) => {
      const { spoken } = normalizeKazakh(text, options);
      const again = normalizeKazakh(spoken, options);
      assert.deepEqual([again.spoken, again.dropped], [spoken, []]);
    }),
    { numRuns: 3_000 },
  );
});

test("spoken news sentences stay unchanged", () => {
  for (const [, sentence] of tableRows("pairs-kk.tsv.br")) {
    const { spoken } = normalizeKazakh(sentence!, { expand: true });
    assert.equal(normalizeKazakh(spoken, { expand: true }).spoken, spoken);
  }
});

/** An independent speller: repeated subtraction over a list of named amounts, largest first. */
function spell(value: bigint): string {
  const named: [bigint, string][] = [
    [10n ** 15n, "квадриллион"],
    [10n ** 12n, "триллион"],
    [10n ** 9n, "миллиард"],
    [10n ** 6n, "миллион"],
    [1_000n, "мың"],
    [100n, "жүз"],
    [90n, "тоқсан"],
    [80n, "сексен"],
    [70n, "жетпіс"],
    [60n, "алпыс"],
    [50n, "елу"],
    [40n, "қырық"],
    [30n, "отыз"],
    [20n, "жиырма"],
    [10n, "он"],
    [9n, "тоғыз"],
    [8n, "сегіз"],
    [7n, "жеті"],
    [6n, "алты"],
    [5n, "бес"],
    [4n, "төрт"],
    [3n, "үш"],
    [2n, "екі"],
    [1n, "бір"],
  ];
  if (value === 0n) return "нөл";
  const out: string[] = [];
  let rest = value;
  for (const [size, name] of named) {
    if (size < 100n) {
      if (rest >= size) {
        out.push(name);
        rest -= size;
      }
      continue;
    }
    const times = rest / size;
    if (times === 0n) continue;
    const isBare = times === 1n && (size === 100n || (size === 1_000n && value < 2_000n));
    if (!isBare) out.push(spell(times));
    out.push(name);
    rest %= size;
  }
  return out.join(" ");
}

const anyNumber = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n ** 15n }),
  fc.bigInt({ min: 0n, max: 3_000n }),
  fc.tuple(fc.bigInt({ min: 1n, max: 999n }), fc.nat(12)).map(([head, zeros]) => head * 10n ** BigInt(zeros)),
);

test("numbers are read as by an independent speller", () => {
  fc.assert(
    fc.property(anyNumber, (value) => {
      assert.equal(cardinal(String(value)), spell(value));
      assert.equal(normalizeKazakh(`${value} кітап`, { expand: true }).spoken, `${spell(value)} кітап`);
    }),
    { numRuns: 1_000 },
  );
});

test("grouping a number does not change its reading", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 10_000n, max: 10n ** 15n - 1n }),
      fc.constantFrom(" ", "\u00a0", "\u202f"),
      (value, gap) => {
        const grouped = String(value).replace(/\B(?=(\d{3})+$)/g, gap);
        assert.equal(normalizeKazakh(grouped, { expand: true }).spoken, spell(value));
      },
    ),
  );
});

test("only the last word of an ordinal takes the ending", () => {
  fc.assert(
    fc.property(anyNumber, (value) => {
      const words = spell(value).split(" ");
      const ordinals = ordinal(spell(value)).split(" ");
      assert.deepEqual(ordinals.slice(0, -1), words.slice(0, -1));
      assert.match(ordinals.at(-1)!, /н?ш[ыі]$/);
    }),
  );
});
