import { LOWER, UPPER } from "./letters.js";
import { readNumberEnding } from "./number-endings.js";
import { cardinal, ordinal } from "./numerals.js";
import { matchAt, type Reading } from "./reading.js";

const VALUES: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1_000 };
/** Cyrillic letters that are typed for Roman ones. */
const STAND_INS: Readonly<Record<string, string>> = { І: "I", Х: "X", Ү: "V", С: "C", М: "M", Д: "D" };
const NUMERAL = /[IVXLCDMІХҮСМ]{1,16}(?![\p{L}\p{M}\d])/uy;
const ORDINAL_ENDING = /-(?:[ыі]н|сын|н)?ш[ыі]/uy;
const CANONICAL = /^M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})$/;
/** Nouns that are numbered with Roman numerals, so that even a single letter is one. */
const NUMBERED =
  /[ -](?:ғасыр|ғ\.|ғғ\.|тарау|бөлім|том|съезд|тоқсан|дәреже|топ|кезең|сынып|жартыжылдық|мыңжылдық|класс|санат)/uy;
const NAME_BEFORE = new RegExp(`(?:^|[^${LOWER}${UPPER}])[${UPPER}][${LOWER}]+ $`, "u");

/** Roman numerals are ordinals: "ХХІ ғасыр", "ІІ Петр", "Петр I", "III-ші". Capitals only. */
export function romanRule(text: string, at: number): Reading | null {
  const match = matchAt(NUMERAL, text, at);
  if (match === null) return null;
  const numeral = [...match[0]].map((letter) => STAND_INS[letter] ?? letter).join("");
  if (!CANONICAL.test(numeral)) return null;
  const end = at + numeral.length;
  if (!isNumeral(numeral, text, at, end)) return null;
  const spoken = cardinal(String(romanValue(numeral)));
  // "ІІ-ші" writes the ordinal out; any other ending goes to the ordinal: "ХХ-да" is "жиырмасыншыда".
  const isWrittenOut = matchAt(ORDINAL_ENDING, text, end) !== null;
  const number = isWrittenOut ? { spoken, digits: numeral } : { spoken: ordinal(spoken), digits: null };
  return readNumberEnding(number, text, end);
}

function isNumeral(numeral: string, text: string, at: number, end: number): boolean {
  if (matchAt(NUMBERED, text, end) !== null) return true;
  if (numeral.length === 1)
    return NAME_BEFORE.test(text.slice(Math.max(0, at - 30), at)) && "IVX".includes(numeral);
  // Sizes and abbreviations: XL, CD, DC, MC; a number that uses these letters is long, like MCMXCI.
  return /^[IVX]+$/.test(numeral) || numeral.length >= 4;
}

function romanValue(numeral: string): number {
  let sum = 0;
  for (let i = 0; i < numeral.length; i++) {
    const value = VALUES[numeral[i]!]!;
    const next = VALUES[numeral[i + 1] ?? ""] ?? 0;
    sum += value < next ? -value : value;
  }
  return sum;
}
