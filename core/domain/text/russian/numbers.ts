import { matchAt } from "../kazakh/reading.js";
import { casesBefore, chosen } from "./agreement.js";
import { adjective, type Case, type Grammar } from "./declension.js";
import { cardinal, digitByDigit, LARGEST } from "./numerals.js";

/** A written number. `fraction` is empty for a whole number. */
export interface WrittenNumber {
  readonly whole: string;
  readonly fraction: string;
  readonly next: number;
}

const GROUPS = "[1-9]\\d{0,2}(?:[ \\u00a0\\u2009\\u202f]\\d{3})+(?!\\d)";
const NUMBER = new RegExp(`(${GROUPS}|\\d+)(?:[.,](\\d+)(?![.,]?\\d))?`, "yu");
const SPACES = /[ \u00a0\u2009\u202f]/g;
/** Denominators of decimal fractions by their digits. */
const DENOMINATORS = ["", "десят", "сот", "тысячн", "десятитысячн", "стотысячн", "миллионн"];

/** Parses the number that begins at a position; null if there is no digit. */
export function numberAt(text: string, at: number): WrittenNumber | null {
  const match = matchAt(NUMBER, text, at);
  if (match === null) return null;
  const [written, whole = "", fraction = ""] = match;
  return { whole: whole.replace(SPACES, ""), fraction, next: at + written.length };
}

/** Returns whether a number is a code: too long for a number, or with leading zeros. */
export function isCode({ whole }: WrittenNumber): boolean {
  return (whole.length > 1 && whole.startsWith("0")) || Number(whole) > LARGEST;
}

export function spokenNumber(number: WrittenNumber, grammar: Grammar): string {
  if (number.fraction !== "") return decimal(number, grammar.case);
  return isCode(number) ? codeGroup(number.whole) : cardinal(Number(number.whole), grammar);
}

/** Reads "двенадцать целых пять десятых"; a fraction too long for a denominator is read digit by digit. */
function decimal({ whole, fraction }: WrittenNumber, of: Case): string {
  const grammar: Grammar = { case: of, gender: "feminine", isAnimate: false };
  const stem = DENOMINATORS[fraction.length];
  const first = Number(whole) > LARGEST ? digitByDigit(whole) : cardinal(Number(whole), grammar);
  if (stem === undefined) return `${first} запятая ${digitByDigit(fraction)}`;
  const parts = Number(fraction);
  return `${first} ${partName("цел", Number(whole), grammar)} ${cardinal(parts, grammar)} ${partName(stem, parts, grammar)}`;
}

/** Reads "одна целая", "две целых", "пятью десятыми". */
function partName(stem: string, count: number, grammar: Grammar): string {
  const isOne = count % 10 === 1 && count % 100 !== 11;
  const isLikeGenitive = grammar.case === "nominative" || grammar.case === "accusative";
  if (isOne) return adjective(stem, grammar);
  return adjective(stem, { ...grammar, gender: "plural", case: isLikeGenitive ? "genitive" : grammar.case });
}

/** Reads a common fraction: "две третьих". */
export function commonFraction(parts: number, stem: string, grammar: Grammar): string {
  const feminine: Grammar = { ...grammar, gender: "feminine" };
  return `${cardinal(parts, feminine)} ${partName(stem, parts, feminine)}`;
}

/** Reads a group of a code or a telephone number: leading zeros one by one, the rest as a number. */
export function codeGroup(digits: string): string {
  const zeros = /^0*/.exec(digits)?.[0] ?? "";
  const rest = digits.slice(zeros.length);
  if (rest.length > 15) return digitByDigit(digits);
  const number = rest === "" ? "" : cardinal(Number(rest), NOMINATIVE);
  return [digitByDigit(zeros), number].filter((part) => part !== "").join(" ");
}

const NOMINATIVE: Grammar = { case: "nominative", gender: "masculine", isAnimate: false };

/** Returns the case that the preceding words require, if a sign or an abbreviation follows the number. */
export function grammarBefore(text: string, at: number): Grammar {
  return chosen(casesBefore(text, at), []);
}
