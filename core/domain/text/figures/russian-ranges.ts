import { onlyNumber } from "./number-words.js";
import { type RussianNumberWord, russianNumberWord } from "./russian-words.js";

const LEAST_FIGURE = 10;
const FROM = /^(?:от|с|со)$/;
const UNTIL = /^(?:до|по)$/;
const LONGEST_NUMBER = 8;
/** The word for years, after two ordinals. */
export const DECADE = /^год(?:ы|ов|ам|ами|ах)$/;
const FIRST_YEAR = 1_000;

/**
 * Whether a number [first, end) starts or ends a range whose other number is in digits: "от двух до трёх
 * часов", "с восьми лет до одиннадцати", "от двенадцати ночи до трёх".
 *
 * @param isMeasure whether a word is a unit, before which every number is written in digits
 */
export function isInRange(
  words: readonly string[],
  first: number,
  end: number,
  isMeasure: (word: string) => boolean,
): boolean {
  const { isOrdinal } = russianNumberWord(words[end - 1] ?? "") ?? { isOrdinal: false };
  return [startOf(words, first), endOf(words, first, end)].some((other) => {
    const run = other === null ? [] : runAt(words, other);
    if (run.length === 0 || run.at(-1)!.isOrdinal !== isOrdinal) return false;
    const value = onlyNumber(run) ?? 0;
    return value >= LEAST_FIGURE || (!isOrdinal && isMeasure(words[other! + run.length] ?? ""));
  });
}

/** Returns the start of the number after "до" or "по", if the number [first, end) follows "от" or "с". */
function endOf(words: readonly string[], first: number, end: number): number | null {
  if (!FROM.test(words[first - 1] ?? "")) return null;
  const until = [end, end + 1].find((at) => UNTIL.test(words[at] ?? ""));
  return until === undefined ? null : until + 1;
}

/** Returns the start of the number after "от" or "с", if the number at `first` follows "до" or "по". */
function startOf(words: readonly string[], first: number): number | null {
  if (!UNTIL.test(words[first - 1] ?? "")) return null;
  for (let at = first - 2; at > first - 3 - LONGEST_NUMBER; at--) {
    if (!FROM.test(words[at] ?? "")) continue;
    const run = runAt(words, at + 1);
    const between = first - 2 - at - run.length;
    return run.length > 0 && between <= 1 ? at + 1 : null;
  }
  return null;
}

/**
 * "Тысяча девятьсот сорок первого тысяча девятьсот сорок пятого годов" is 1941–1945; null if two ordinals are
 * no span of years.
 */
export function ordinalRange(
  words: readonly string[],
  { words: run, first }: { readonly words: readonly RussianNumberWord[]; readonly first: number },
): { readonly end: number; readonly text: string | null } | null {
  const middle = first + run.length;
  const other = runAt(words, middle);
  const end = middle + other.length;
  const [last, latest] = [run.at(-1)!, other.at(-1)];
  if (!last.isOrdinal || latest?.isOrdinal !== true || last.suffix !== latest.suffix) return null;
  const [from, to] = [onlyNumber(run), onlyNumber(other)];
  if (from === null || to === null || from < LEAST_FIGURE || !DECADE.test(words[end] ?? "")) return null;
  // In "тысяча девятьсот сорок первого сорок пятого годов" both stay words.
  if (to <= from) return to > from % 100 ? { end, text: null } : null;
  if (from >= FIRST_YEAR) return { end, text: `${from}–${to}` };
  return to < 100 ? { end, text: `${from}–${to}-${latest.suffix}` } : null;
}

function runAt(words: readonly string[], first: number): RussianNumberWord[] {
  const run: RussianNumberWord[] = [];
  for (let at = first; at < first + LONGEST_NUMBER; at++) {
    const word = russianNumberWord(words[at] ?? "");
    if (word === null) break;
    run.push(word);
    if (word.isOrdinal) break;
  }
  return run;
}
