import { cardinal } from "../../../../core/domain/text/kazakh/numerals.js";
import * as fc from "../../../support/properties.js";

/** Numbers for the redaction tests, with their spoken forms. */
export type Language = "kazakh" | "russian";

const ONES = ["", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять"];
const TEENS =
  "десять одиннадцать двенадцать тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать";
const TENS = [
  "",
  "",
  ..."двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто".split(" "),
];
const HUNDREDS = [
  "",
  ..."сто двести триста четыреста пятьсот шестьсот семьсот восемьсот девятьсот".split(" "),
];

/** Spells digits as one number, and leading zeros one by one. */
function said(digits: string, language: Language): string[] {
  const zeros = /^0*/.exec(digits)![0].length;
  const words = Array.from({ length: zeros }, () => (language === "kazakh" ? "нөл" : "ноль"));
  const rest = digits.slice(zeros);
  if (rest === "") return words;
  return [...words, ...(language === "kazakh" ? cardinal(rest).split(" ") : russianCardinal(Number(rest)))];
}

function russianCardinal(value: number): string[] {
  const words = [HUNDREDS[Math.floor(value / 100)]!];
  const rest = value % 100;
  if (rest >= 10 && rest < 20) words.push(TEENS.split(" ")[rest - 10]!);
  else words.push(TENS[Math.floor(rest / 10)]!, ONES[rest % 10]!);
  return words.filter((word) => word !== "");
}

/** Lengths of groups: single digits, pairs or triples, and the remainder. */
export function groupings(length: number): fc.Arbitrary<readonly number[]> {
  return fc.constantFrom<number>(1, 2, 3).map((size) => {
    const groups = Array.from({ length: Math.floor(length / size) }, () => size);
    if (length % size > 0) groups.push(length % size);
    return groups;
  });
}

/** Random group lengths of one to three digits. */
export function mixedGroupings(length: number): fc.Arbitrary<readonly number[]> {
  return fc.array(fc.integer({ min: 1, max: 3 }), { minLength: length, maxLength: length }).map((sizes) => {
    const groups: number[] = [];
    for (let left = length; left > 0; left -= groups.at(-1)!)
      groups.push(Math.min(left, sizes[groups.length]!));
    return groups;
  });
}

/** Returns whether no two groups read as one number, as "20, 3" reads as 23 and "жеті, жүз" as 700. */
export function isPlain(digits: string, sizes: readonly number[]): boolean {
  let at = 0;
  return sizes.every((size, nth) => {
    const group = digits.slice(at, at + size);
    at += size;
    const next = digits.slice(at, at + (sizes[nth + 1] ?? 0));
    if (next === "" || next.startsWith("0") || /^0+$/.test(group)) return true;
    return !group.endsWith("0") && !(next.length === 3 && next.startsWith("1"));
  });
}

/** Splits digits into groups and spells out each. */
export function grouped(digits: string, sizes: readonly number[], language: Language): string[] {
  const words: string[] = [];
  let at = 0;
  for (const size of sizes) {
    words.push(...said(digits.slice(at, at + size), language));
    at += size;
  }
  return words;
}

/** Digit strings of a given length. */
export function digitsOf(length: number): fc.Arbitrary<string> {
  return fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: length, maxLength: length })
    .map((all) => all.join(""));
}

const AREAS = [
  "701",
  "702",
  "705",
  "707",
  "747",
  "771",
  "775",
  "777",
  "727",
  "717",
  "916",
  "903",
  "495",
  "812",
];

/** Ten digits with an area code of Kazakhstan or Russia. */
export const localPhones = fc.tuple(fc.constantFrom(...AREAS), digitsOf(7)).map((parts) => parts.join(""));

/** The two passes of the official algorithm, written out. Null if no check digit exists. */
export function iinCheck(eleven: string): number | null {
  const pass = (weights: readonly number[]) =>
    [...eleven].reduce((sum, digit, at) => sum + Number(digit) * weights[at]!, 0) % 11;
  const first = pass([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  if (first < 10) return first;
  const second = pass([3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]);
  return second < 10 ? second : null;
}

/** Valid individual identification numbers. */
export const iins = fc
  .tuple(
    fc.date({ min: new Date("1930-01-01"), max: new Date("2019-12-31"), noInvalidDate: true }),
    fc.boolean(),
    digitsOf(4),
  )
  .map(([born, isMale, serial]) => {
    const date = born.toISOString().slice(2, 10).replaceAll("-", "");
    const century = born.getUTCFullYear() < 2_000 ? (isMale ? 3 : 4) : isMale ? 5 : 6;
    return `${date}${century}${serial}`;
  })
  .filter((eleven) => iinCheck(eleven) !== null)
  .map((eleven) => eleven + iinCheck(eleven));

/** Card numbers of sixteen digits with Luhn's check digit, computed from the left. */
export const cards = fc
  .tuple(fc.constantFrom("4400", "4405", "5169", "5536", "2202", "6212"), digitsOf(11))
  .map(([start, rest]) => {
    const fifteen = start + rest;
    const sum = [...fifteen].reduce((total, digit, at) => {
      const value = Number(digit) * (at % 2 === 0 ? 2 : 1);
      return total + Math.floor(value / 10) + (value % 10);
    }, 0);
    return fifteen + ((10 - (sum % 10)) % 10);
  });

/** Returns the same digits with a different last one. */
export function broken(digits: string, by: number): string {
  return digits.slice(0, -1) + ((Number(digits.at(-1)) + by) % 10);
}
