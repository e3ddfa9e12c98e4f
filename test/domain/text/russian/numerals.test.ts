import assert from "node:assert/strict";
import { test } from "node:test";
import numberToWords from "number-to-words-ru";
import { CASES, type Gender } from "../../../../core/domain/text/russian/declension.js";
import { cardinal, compounding, ordinal } from "../../../../core/domain/text/russian/numerals.js";

/** Every number up to 1,100, and larger numbers of every shape. */
const NUMBERS = [
  ...Array.from({ length: 1_100 }, (_, index) => index + 1),
  ...[
    1_001, 1_111, 2_000, 2_002, 4_044, 5_005, 9_999, 10_000, 11_011, 21_021, 40_040, 90_090, 100_000, 101_101,
  ],
  ...[222_222, 345_678, 1_000_000, 1_001_001, 2_000_002, 5_000_000, 21_000_000, 999_999_999, 1_000_000_000],
];
const GENDERS: readonly Gender[] = ["masculine", "feminine", "neuter"];

test("declines cardinals as another library does, in six cases and three genders", () => {
  for (const of of CASES) {
    for (const [index, gender] of GENDERS.entries()) {
      for (const value of NUMBERS) {
        const expected = numberToWords.convert(String(value), {
          currency: {
            currencyNameCases: ["", "", ""],
            currencyNameDeclensions: Object.fromEntries(CASES.map((found) => [found, ["", ""]])),
            currencyNounGender: { integer: index as 0 | 1 | 2 },
          },
          declension: of,
          showNumberParts: { integer: true, fractional: false },
          showCurrency: { integer: false, fractional: false },
        });
        const said = cardinal(value, { case: of, gender, isAnimate: false });
        assert.equal(plain(said), plain(expected), `${value} ${of} ${gender}`);
      }
    }
  }
});

/** Our rules omit "одна" before a leading thousand. */
function plain(words: string): string {
  return words
    .toLowerCase()
    .trim()
    .replaceAll("ё", "е")
    .replace(/^одн(?:а|ой|у) (?=тысяч)/u, "")
    .replace("нолем", "нулем");
}

for (const [value, spoken] of [
  [1, "первый"],
  [3, "третий"],
  [8, "восьмой"],
  [14, "четырнадцатый"],
  [40, "сороковой"],
  [100, "сотый"],
  [500, "пятисотый"],
  [1_000, "тысячный"],
  [2_000, "двухтысячный"],
  [2_024, "две тысячи двадцать четвёртый"],
  [1_900, "тысяча девятисотый"],
  [25_000, "двадцатипятитысячный"],
  [1_000_000, "миллионный"],
] as const) {
  test(`${value} is ${spoken}`, () => {
    assert.equal(ordinal(value, { case: "nominative", gender: "masculine", isAnimate: false }), spoken);
  });
}

test("declines ordinals by case and gender", () => {
  const forms = (value: number, gender: Gender) =>
    CASES.map((of) => ordinal(value, { case: of, gender, isAnimate: false }));
  assert.deepEqual(forms(3, "feminine"), ["третья", "третьей", "третьей", "третью", "третьей", "третьей"]);
  assert.deepEqual(forms(2, "masculine"), ["второй", "второго", "второму", "второй", "вторым", "втором"]);
  assert.deepEqual(forms(90, "plural"), [
    "девяностые",
    "девяностых",
    "девяностым",
    "девяностые",
    "девяностыми",
    "девяностых",
  ]);
});

test("joins numbers to the word that follows", () => {
  assert.deepEqual(
    [1, 2, 21, 40, 90, 100, 115, 300, 5_000].map((value) => compounding(value)),
    ["одно", "двух", "двадцатиодно", "сорока", "девяносто", "сто", "стопятнадцати", "трёхсот", "пятитысяче"],
  );
});
