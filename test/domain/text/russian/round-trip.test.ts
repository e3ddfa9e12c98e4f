import assert from "node:assert/strict";
import { test } from "node:test";
import { corpusLines } from "../../../../bench/support/corpora.js";
import { russianFigures } from "../../../../core/domain/text/figures/russian-figures.js";
import { acceptsRussian } from "../../../../core/domain/text/figures/russian-read-back.js";
import { canonical, russianNumberWord } from "../../../../core/domain/text/figures/russian-words.js";
import { joined } from "../../../../core/domain/text/figures/written.js";
import {
  CASES,
  type Case,
  counted,
  declined,
  inCase,
  irregular,
  type Noun,
} from "../../../../core/domain/text/russian/declension.js";
import { normalizeRussian } from "../../../../core/domain/text/russian/normalize.js";
import {
  DOLLAR,
  KILOMETRE,
  MONTHS,
  PERSON,
  ROUBLE,
  TENGE,
  YEAR,
} from "../../../../core/domain/text/russian/nouns.js";
import { spokenNumber } from "../../../../core/domain/text/russian/numbers.js";
import { cardinal, ordinal } from "../../../../core/domain/text/russian/numerals.js";
import { roman } from "../../../../core/domain/text/russian/roman.js";

const PREPOSITIONS: Readonly<Record<Case, readonly string[]>> = {
  nominative: ["осталось", "есть"],
  genitive: ["около", "до", "от", "без", "более"],
  dative: ["к", "благодаря"],
  accusative: ["через", "про", "за"],
  instrumental: ["над", "перед", "между"],
  prepositional: ["при", "о"],
};
/** Nouns from the tables, and others whose properties are inferred from their endings. */
const NOUNS: readonly Noun[] = [
  ROUBLE,
  TENGE,
  DOLLAR,
  KILOMETRE,
  PERSON,
  YEAR,
  declined("masculine hard", "завод"),
  declined("feminine hard", "ламп"),
  declined("neuter hard", "болот"),
  declined("feminine я", "пул"),
  irregular(
    "neuter",
    "здание здания зданию здание зданием здании здания зданий зданиям здания зданиями зданиях",
  ),
];
const MONEY: readonly Noun[] = [ROUBLE, TENGE, DOLLAR];
const RUNS = 2_000;
let seed = 20_260_315;

function random(below: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
}

function oneOf<Item>(all: readonly Item[]): Item {
  return all[random(all.length)]!;
}

/** Returns small numbers as often as large ones. */
function randomNumber(): number {
  return 1 + random(oneOf([20, 100, 1_000, 10_000, 1_000_000, 1_000_000_000]));
}

function lettersOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}

const FIGURES: Readonly<Record<string, () => string>> = {
  numbers: () => counting(oneOf(NOUNS), randomNumber(), oneOf(CASES)),
  sums: () => counting(oneOf(MONEY), randomNumber(), oneOf(CASES)),
  dates() {
    const [preposition, of] = oneOf([
      ["", 1],
      ["до", 1],
      ["с", 1],
      ["к", 2],
      ["на", 0],
      ["за", 0],
      ["перед", 4],
    ] as const);
    const neuter = { case: CASES[of]!, gender: "neuter", isAnimate: false } as const;
    const genitive = { case: "genitive", gender: "masculine", isAnimate: false } as const;
    const day = `${preposition} ${ordinal(1 + random(28), neuter)} ${oneOf(MONTHS)}`;
    return random(2) === 0 ? day : `${day} ${ordinal(1_000 + random(1_100), genitive)} года`;
  },
  times() {
    const [preposition, of] = oneOf([
      ["в", "accusative"],
      ["до", "genitive"],
      ["с", "genitive"],
      ["к", "dative"],
      ["после", "genitive"],
    ] as const);
    const masculine = { case: of, gender: "masculine", isAnimate: false } as const;
    const minute = random(60);
    const minutes =
      minute === 0 ? "ноль ноль" : `${minute < 10 ? "ноль " : ""}${cardinal(minute, masculine)}`;
    return `${preposition} ${cardinal(random(24), masculine)} ${minutes}`;
  },
  phones() {
    // "Четыреста пять" can be one group or two, so no group ends in zeros that the next one could fill.
    const digits = (count: number) => Array.from({ length: count }, () => 1 + random(9)).join("");
    const number = `+7 7${digits(2)} ${digits(3)}-${digits(2)}-${digits(2)}`;
    const { spoken } = normalizeRussian(number, { expand: true });
    return `телефон ${spoken.replace("плюс ", "")}`;
  },
  decimals() {
    const of = oneOf(CASES);
    const number = {
      whole: String(random(200)),
      fraction: `${random(10)}${1 + random(9)}`.slice(random(2)),
      next: 0,
    };
    const words = spokenNumber(number, { case: of, gender: "feminine", isAnimate: false });
    return `${oneOf(PREPOSITIONS[of])} ${words} процента`;
  },
};

function counting(noun: Noun, value: number, of: Case): string {
  const { gender, isAnimate } = noun;
  const said = cardinal(value, { case: of, gender, isAnimate });
  // "К тысяче рублей": scales take genitives.
  const counts = value % 1_000 === 0 ? inCase(noun.plural, "genitive") : counted(noun, value, of);
  return `${oneOf(PREPOSITIONS[of])} ${said} ${counts}`;
}

for (const [kind, generate] of Object.entries(FIGURES)) {
  test(`reads ${kind} in all cases back as spoken`, () => {
    const wrong: string[] = [];
    const unwritten: string[] = [];
    for (let nth = 0; nth < RUNS; nth++) {
      const said = lettersOf(generate());
      const written = joined(russianFigures(said, "all"));
      if (!/\d/.test(written)) unwritten.push(written);
      const read = lettersOf(normalizeRussian(written, { expand: true }).spoken);
      if (same(read) !== same(said)) wrong.push(`${said.join(" ")} → ${written} → ${read.join(" ")}`);
    }
    assert.ok(
      unwritten.length <= RUNS / 100,
      `${unwritten.length} in words:\n${unwritten.slice(0, 20).join("\n")}`,
    );
    assert.ok(wrong.length <= RUNS / 100, `${wrong.length} of ${RUNS}:\n${wrong.slice(0, 20).join("\n")}`);
  });
}

test("reads every written number back as the spoken one", () => {
  let figures = 0;
  for (const line of corpusLines("ru.txt.br").filter((_, nth) => nth % 4 === 0)) {
    if (/[\dA-Za-z]/.test(line)) continue;
    const said = lettersOf(line);
    const pieces = russianFigures(said, "all").filter(({ text }) => /\d/.test(text));
    figures += pieces.length;
    for (const { text, first, end } of pieces) {
      assert.ok(acceptsRussian(said, first, end, text), `${text} in ${line}`);
      const context = [said.slice(0, first).slice(-2), text, said.slice(end).slice(0, 3)].flat().join(" ");
      const read = lettersOf(normalizeRussian(context, { expand: true }).spoken);
      assert.deepEqual(
        values(read),
        values([...said.slice(0, first).slice(-2), ...said.slice(first, end + 3)]),
        line,
      );
    }
  }
  assert.ok(figures > 2_000, `${figures} figures`);
});

/** Removes the case and gender of numbers, and a bare "один" before a scale. */
function values(words: readonly string[]): string[] {
  const read = same(words).split(" ").map(russianNumberWord);
  return read.flatMap((word) => (word === null ? [] : [`${word.value}${word.isOrdinal ? "." : ""}`]));
}

test("recovers the numbers of written lines", () => {
  const lines = corpusLines("ru.txt.br").filter((line) => /\d/.test(line));
  const wrong = lines.filter((line) => {
    const { spoken } = normalizeRussian(line, { expand: true });
    const written = joined(russianFigures(lettersOf(spoken), "all")).replace(/(?<=\d) (?=\d)/g, " , ");
    const all = amounts(written);
    let found = 0;
    const wanted = amounts(line);
    for (const amount of all) if (amount === wanted[found]) found++;
    return found < wanted.length;
  });
  assert.ok(lines.length > 2_000);
  assert.ok(
    wrong.length <= lines.length / 50,
    `${wrong.length} of ${lines.length}:\n${wrong.slice(0, 20).join("\n")}`,
  );
});

const SCALE_WORD =
  /(\d+(?:[.,]\d+)?)[ \u00a0](?:(тыс)|(млн|миллион)|(млрд|миллиард))(?:\.|\p{Ll}{0,4})(?!\p{L})/gu;
const MONTH_WORD = new RegExp(`(?<=\\d )(?:${MONTHS.join("|")})`, "g");

/**
 * Returns the whole numbers of a text in order, whatever their notation: "10 тысяч" is 10 000, "XIX" 19,
 * "марта" 3.
 */
function amounts(text: string): string[] {
  const plain = text
    .replace(/(?<=\d)[\u00a0 ](?=\d{3}(?!\d))/g, "")
    .replace(/(?<=[см])2(?!\d)/g, "")
    .replace(/(?<!\p{L})[IVX]+(?!\p{L})/gu, (numeral) => String(ROMANS.indexOf(numeral)))
    .replace(MONTH_WORD, (month) => String(MONTHS.indexOf(month) + 1))
    .replace(SCALE_WORD, (_, digits: string, thousand?: string, million?: string) => {
      const scale = thousand === undefined ? (million === undefined ? 1e9 : 1e6) : 1e3;
      return String(Math.round(Number(digits.replace(",", ".")) * scale));
    });
  return (plain.match(/\d+/g) ?? []).map((digits) => digits.replace(/^0+(?=\d)/, ""));
}

const ROMANS = ["", ...Array.from({ length: 30 }, (_, index) => roman(index + 1))];

/** Treats "Один миллион" as "миллион". */
function same(words: readonly string[]): string {
  return words
    .map(canonical)
    .join(" ")
    .replace(/(?<!\p{L})одн?(?:ин|а|ого|ой|ому|им|ом|у) (?=тысяч|миллион|миллиард)/gu, "");
}
