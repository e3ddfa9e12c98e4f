import type { KazakhNumberWord } from "./kazakh-words.js";
import { grouped } from "./number-words.js";

export const MONTH =
  /^(?:қаңтар|ақпан|наурыз|сәуір|мамыр|маусым|шілде|тамыз|қыркүйе[кг]|қазан|қараша|желтоқсан)(?:с?[ыі])?(?:[ндт][ыі]ң|н?[дт][ае]|[ндт][ае]н|н[ае]?|[ғгқк][ае]|[ндт][ыі]|[мбп]ен|(?:н?[дт][ае])?[ғг][ыі])?$/;
export const YEAR =
  /^жыл(?:ы|ғы|дың|ды|ға|да|дан|мен|дағы\p{Ll}{0,4}|дар\p{Ll}{0,12}|ының|ында|ындағы\p{Ll}{0,4}|ынан|ына|ын|ымен)?$/u;
const DECADE = /^жылдар\p{Ll}{0,12}$/u;
export const CENTURY = /^ғасыр\p{Ll}*$/u;
export const SCALE_NAMES: ReadonlyMap<number, string> = new Map([
  [1e12, "трлн"],
  [1e9, "млрд"],
  [1e6, "млн"],
]);
const FRONT_LAST = new Set([0, 1, 2, 3, 4, 5, 7, 8]);

/** Returns "млн", or "миллионнан" with its ending. */
export function scaleName({ value, stem, ending }: KazakhNumberWord): string {
  return ending === "" ? (SCALE_NAMES.get(value) ?? stem) : stem + ending;
}

/** Returns "20 %-ына", with the ending of "пайызына". */
export function percentForms(value: number, ending: string): string[] {
  const number = grouped(value);
  return ending === "" ? [`${number} %`] : [`${number} %-${ending}`, `${number}%-${ending}`];
}

/** Written forms of a number before the word `next`, best first. */
export function formsOf(
  value: number,
  { stem, isOrdinal, ending }: KazakhNumberWord,
  next: string,
): string[] {
  if (!isOrdinal) {
    if (ending === "") return [...roundSums(value), grouped(value), String(value)];
    const scaled = [...SCALE_NAMES.keys()].find((scale) => value >= scale && value % scale === 0);
    const forms = [`${grouped(value)}-${ending}`, `${value}-${ending}`];
    return scaled === undefined ? forms : [`${grouped(value / scaled)} ${stem}${ending}`, ...forms];
  }
  const bare = String(value);
  if (ending === "" && DECADE.test(next) && value < 100) return [`${bare}-`, bare];
  if (ending === "" && MONTH.test(next)) return [bare];
  if (ending === "" && YEAR.test(next)) return [bare, `${bare}-`];
  if (ending === "" && CENTURY.test(next)) return [`${bare}-`, bare];
  const suffix = FRONT_LAST.has(value % 10) && !isBackTen(value) ? "ші" : "шы";
  return [`${bare}-${suffix}${ending}`];
}

/**
 * Ten, twenty, thirty, forty, sixty and ninety have back vowels; fifty, seventy, eighty and a hundred front
 * ones.
 */
function isBackTen(value: number): boolean {
  return value % 10 === 0 && [10, 20, 30, 40, 60, 90].includes(value % 100);
}

/** "5 млн": forms of a sum spoken as a round number of at least a million. */
function roundSums(value: number): string[] {
  for (const [scale, name] of SCALE_NAMES) {
    if (value >= scale && value % scale === 0) return [`${grouped(value / scale)} ${name}`];
  }
  return [];
}
