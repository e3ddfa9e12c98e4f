import { onlyNumber } from "./number-words.js";
import { type RussianNumberWord, russianNumberWord } from "./russian-words.js";

const LEAST_FIGURE = 10;
const FROM = /^(?:от|с|со)$/;
const UNTIL = /^(?:до|по)$/;
const LONGEST_NUMBER = 8;

/**
 * Whether a number [first, end) starts or ends a range whose other number is a figure: "от двух до трёх часов",
 * "с восьми лет до одиннадцати", "от двенадцати ночи до трёх".
 *
 * @param isMeasure whether a word is a unit, before which every number is a figure
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

/** Start of the number after "до" or "по", if the number [first, end) comes after "от" or "с". */
function endOf(words: readonly string[], first: number, end: number): number | null {
  if (!FROM.test(words[first - 1] ?? "")) return null;
  const until = [end, end + 1].find((at) => UNTIL.test(words[at] ?? ""));
  return until === undefined ? null : until + 1;
}

/** Start of the number after "от" or "с", if the number at `first` comes after "до" or "по". */
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
