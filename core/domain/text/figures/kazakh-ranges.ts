import { kazakhNumberWord } from "./kazakh-words.js";
import { onlyNumber } from "./number-words.js";

const LEAST_FIGURE = 10;
const UNTIL = /^[дш]ейін$/;
const FROM = /^[дтн][ае]н$/;
const TO = /^[ғгқк][ае]$/;
const NOUN_FROM = /[дтн][ае]н$/;
const NOUN_TO = /(?:[ғгқк][ае]|н[ае])$/;
const LONGEST_NUMBER = 8;
const SAME_START = 3;
const CENTURIES = /^ғасырлар/;
const YEARS = /^жылдар/;
const LAST_DAY = 31;
const FIRST_YEAR = 1_000;

/** "Жиырма төртінші жиырма жетінші маусым" is 24–27 маусым; null if two ordinals are not a range. */
export function ordinalRange(from: number, to: number, next: string, isOfMonth: boolean): string | null {
  if (to <= from) return null;
  if (isOfMonth) return to <= LAST_DAY ? `${from}–${to}` : null;
  if (CENTURIES.test(next)) return `${from}–${to}-`;
  if (!YEARS.test(next)) return null;
  if (from >= FIRST_YEAR) return `${from}–${to}`;
  return from % 10 === 0 && to < 100 ? `${from}–${to}-` : null;
}

/** Whether two ordinals are the first and the last year of a span, the last one without its century. */
export function isSpanOfYears(from: number, to: number, next: string): boolean {
  return YEARS.test(next) && to < 100 && to > from % 100;
}

/**
 * Whether a number that ends at `end` starts a range up to ten or more: "бестен онға дейін", "бес жылдан он
 * жылға дейін".
 */
export function startsRange(words: readonly string[], end: number): boolean {
  const last = kazakhNumberWord(words[end - 1] ?? "");
  if (last === null || last.isOrdinal) return false;
  const noun = words[end] ?? "";
  const isNoun = last.ending === "" && NOUN_FROM.test(noun) && isSameNoun(words, end);
  if (!FROM.test(last.ending) && !isNoun) return false;
  const value = endOfRange(words, isNoun ? end + 1 : end);
  return value !== null && value >= LEAST_FIGURE;
}

/** Whether the noun is repeated: "бес жылдан он жылға". */
function isSameNoun(words: readonly string[], at: number): boolean {
  const start = words[at]!.slice(0, SAME_START);
  return words.slice(at + 2, at + 1 + LONGEST_NUMBER).some((word) => word.startsWith(start));
}

/** Returns the number that starts at `first` and ends a range: "онға дейін", "он жылға дейін". */
export function endOfRange(words: readonly string[], first: number): number | null {
  const run = [];
  for (let at = first; at < first + LONGEST_NUMBER; at++) {
    const word = kazakhNumberWord(words[at] ?? "");
    if (word === null || word.isOrdinal) break;
    run.push(word);
    if (word.ending !== "") break;
  }
  const last = run.at(-1);
  if (last === undefined) return null;
  const end = first + run.length;
  const isBare = TO.test(last.ending) && UNTIL.test(words[end] ?? "");
  const hasNoun = last.ending === "" && NOUN_TO.test(words[end] ?? "") && UNTIL.test(words[end + 1] ?? "");
  return isBare || hasNoun ? onlyNumber(run) : null;
}
