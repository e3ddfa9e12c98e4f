import { matchAt } from "../kazakh/reading.js";
import { casesBefore, chosen, wordsAfter } from "./agreement.js";
import { type Case, type Grammar, inCase } from "./declension.js";
import { endingIn, type Found, type Rule } from "./found.js";
import { CENTURY, knownFormsOf } from "./nouns.js";
import { ordinal } from "./numerals.js";

const ROMAN = /([IVXLCІХ]{1,7})(?:[ \u00a0]?[-–—][ \u00a0]?([IVXLCІХ]{1,7}))?(?![\p{L}\p{M}\d])/uy;
const VALUES: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100 };
const CENTURY_MARK = /[ \u00a0]?(вв?)\./y;
const CENTURIES: Readonly<Record<string, Case>> = {
  века: "nominative",
  веков: "genitive",
  векам: "dative",
  веками: "instrumental",
  веках: "prepositional",
};
const NAME_BEFORE = /(\p{Lu}\p{Ll}{2,20})[ \u00a0]$/u;
/** Names of men whose genitive looks like the nominative of a woman's name. */
const KING =
  /^(?:Петр|Пётр|Никола|Александр|Павл|Иван|Генрих|Карл|Людовик|Фридрих|Филипп|Эдуард|Георг|Вильгельм|Рамзес|Иоанн|Франциск|Наполеон|Фердинанд|Густав|Ричард|Яков|Альфонс|Август|Пи|Василь?|Климент|Григори|Бенедикт)/;

/** Reads centuries and other nouns numbered like them: "XX век", "XIX–XX вв.", "Пётр I", "XX съезд". */
export const romanRule: Rule = (text, at) => {
  const match = matchAt(ROMAN, text, at);
  if (match === null) return null;
  const values = [match[1], match[2]].filter((numeral) => numeral !== undefined).map(romanValue);
  if (values.includes(null)) return null;
  const numbers = values as number[];
  const next = at + match[0].length;
  return (
    marked(text, at, next, numbers) ??
    beforeNoun(text, at, next, numbers) ??
    afterName(text, at, next, numbers)
  );
};

/** Reads "XX в.", in the genitive by default, as in "начало XX в." */
function marked(text: string, at: number, numeralEnd: number, numbers: readonly number[]): Found | null {
  const mark = matchAt(CENTURY_MARK, text, numeralEnd);
  if (mark === null) return null;
  const next = numeralEnd + mark[0].length;
  const isSeveral = mark[1] === "вв";
  const isIn = /(?:^|[^\p{L}])во?\s$/iu.test(text.slice(Math.max(0, at - 4), at));
  const of = isIn ? "prepositional" : (casesBefore(text, at)?.[0] ?? "genitive");
  const end = endingIn(text, next);
  return {
    next,
    grammar: { case: of, gender: "masculine", isAnimate: false },
    say: (grammar) =>
      `${ordinals(numbers, { ...grammar, gender: "masculine" })} ${inCase(isSeveral ? CENTURY.plural : CENTURY.singular, grammar.case)}${end}`,
  };
}

function beforeNoun(text: string, at: number, next: number, numbers: readonly number[]): Found | null {
  const [word = ""] = wordsAfter(text, next, 1);
  const say = (grammar: Grammar) => ordinals(numbers, grammar);
  const several = CENTURIES[word];
  if (several !== undefined && numbers.length > 1) {
    return { next, grammar: { case: several, gender: "masculine", isAnimate: false }, say };
  }
  const forms = knownFormsOf(word).filter(({ use, isPlural }) => use !== "counted" && !isPlural);
  if (forms.length === 0) return null;
  const options = forms.map(({ noun, case: of }) => ({ case: of, gender: noun.gender }));
  return { next, grammar: chosen(casesBefore(text, at), options), say };
}

/** Reads "Петра I" in the case of the name. */
function afterName(text: string, at: number, next: number, numbers: readonly number[]): Found | null {
  const name = NAME_BEFORE.exec(text.slice(Math.max(0, at - 22), at))?.[1];
  if (name === undefined || numbers.length > 1 || numbers[0]! > 30) return null;
  return { next, grammar: grammarOfName(name), say: (grammar) => ordinals(numbers, grammar) };
}

function grammarOfName(name: string): Grammar {
  const of = (found: Case, gender: Grammar["gender"]): Grammar => ({ case: found, gender, isAnimate: false });
  if (KING.test(name)) {
    if (/[ая]$/.test(name)) return of("genitive", "masculine");
    if (/[ую]$/.test(name)) return of("dative", "masculine");
    if (/(?:ом|ем)$/.test(name)) return of("instrumental", "masculine");
    return of(/[ео]$/.test(name) ? "prepositional" : "nominative", "masculine");
  }
  if (/[ая]$/.test(name)) return of("nominative", "feminine");
  if (/[ыи]$/.test(name)) return of("genitive", "feminine");
  if (/[ую]$/.test(name)) return of("accusative", "feminine");
  return /(?:ой|ей)$/.test(name) ? of("instrumental", "feminine") : of("nominative", "masculine");
}

function ordinals(numbers: readonly number[], grammar: Grammar): string {
  return numbers.map((number) => ordinal(number, grammar)).join(" — ");
}

/** Returns null for letters that are not a numeral in canonical form. */
function romanValue(numeral: string): number | null {
  const letters = [...numeral.replaceAll("І", "I").replaceAll("Х", "X")];
  let value = 0;
  for (const [index, letter] of letters.entries()) {
    const own = VALUES[letter]!;
    value += own < (VALUES[letters[index + 1] ?? ""] ?? 0) ? -own : own;
  }
  return roman(value) === letters.join("") ? value : null;
}

const ROMAN_PARTS = [
  ["C", 100],
  ["XC", 90],
  ["L", 50],
  ["XL", 40],
  ["X", 10],
  ["IX", 9],
  ["V", 5],
  ["IV", 4],
  ["I", 1],
] as const;

/** Writes a number from 1 to 399 in Roman numerals. */
export function roman(value: number): string {
  let written = "";
  let rest = value;
  for (const [letters, worth] of ROMAN_PARTS) {
    for (; rest >= worth; rest -= worth) written += letters;
  }
  return written;
}
