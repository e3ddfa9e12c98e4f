import { numeralForms } from "../russian/numerals.js";
import type { NumberWord } from "./number-words.js";

/** A Russian number word in some case and gender. */
export interface RussianNumberWord extends NumberWord {
  readonly isOrdinal: boolean;
  /** Written ending after digits, as in "5-го"; empty for cardinals. */
  readonly suffix: string;
}

/** Other forms of the same words. */
const VARIANTS: readonly (readonly [pattern: RegExp, by: string])[] = [
  [/^нул(?=[ьяюе])/, "нол"],
  [/^восьмью/, "восемью"],
  [/^(тысяч)ью$/, "$1ей"],
  // Archaic endings, as in "первою" and "одною".
  [/ою$/, "ой"],
];

/** Created with the first word: most pages that load this module never need it. */
let known: ReadonlyMap<string, RussianNumberWord> | null = null;

/** Parses a lower-case word as a number word in any case and gender; null if it is not one. */
export function russianNumberWord(word: string): RussianNumberWord | null {
  return knownWords().get(canonical(word)) ?? null;
}

/** One spelling for all forms of a number word with the same meaning: "ё" as "е", "восьмью" as "восемью". */
export function canonical(word: string): string {
  const plain = word.replaceAll("ё", "е");
  for (const [pattern, by] of VARIANTS) {
    if (!pattern.test(plain)) continue;
    const usual = plain.replace(pattern, by);
    if (knownWords().has(usual)) return usual;
  }
  return plain;
}

function knownWords(): ReadonlyMap<string, RussianNumberWord> {
  known ??= allWords();
  return known;
}

function allWords(): ReadonlyMap<string, RussianNumberWord> {
  const words = new Map<string, RussianNumberWord>();
  for (const { form, value, isOrdinal, isSingular, gender } of numeralForms()) {
    const plain = form.replaceAll("ё", "е");
    if (words.has(plain)) continue;
    const suffix = isOrdinal ? suffixOf(plain) : "";
    words.set(plain, { value, role: roleOf(value), isOrdinal, suffix, isSingular, gender });
  }
  return words;
}

function roleOf(value: number): NumberWord["role"] {
  if (value < 10) return "digit";
  if (value < 20) return "teen";
  if (value < 100) return "ten";
  return value < 1_000 ? "hundreds" : "scale";
}

/** Returns one letter after a vowel, two after a consonant: "5-й", "5-го". */
function suffixOf(form: string): string {
  return form.slice(/[аеиоуыэюяь].$/.test(form) ? -1 : -2);
}
