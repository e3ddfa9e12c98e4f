import { readNumberEnding } from "./number-endings.js";
import { cardinal, ordinal } from "./numerals.js";
import { matchAt, patternRule, type Reading, type Rule, WORD_END } from "./reading.js";

/** Source: Unicode CLDR main/kk ca-gregorian. */
const MONTHS = [
  "қаңтар",
  "ақпан",
  "наурыз",
  "сәуір",
  "мамыр",
  "маусым",
  "шілде",
  "тамыз",
  "қыркүйек",
  "қазан",
  "қараша",
  "желтоқсан",
];
const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** Source: month rows of facts-kk.tsv, the short forms; only after a day, and "там." and its like only with a dot. */
const SHORT_MONTHS: Readonly<Record<string, string>> = {
  қаң: "қаңтар",
  ақп: "ақпан",
  нау: "наурыз",
  сәу: "сәуір",
  мам: "мамыр",
  мау: "маусым",
  шіл: "шілде",
  там: "тамыз",
  қыр: "қыркүйек",
  қаз: "қазан",
  қар: "қараша",
  жел: "желтоқсан",
};
const MONTH = `(?:${MONTHS.join("|")}|қыркүйег)`;
/** A month name, with a possessive or case ending at most: "қазанда", but not "қазандық". */
const MONTH_WORD = `${MONTH}(?:с?[ыі])?(?:[ндт][ыі]ң|н?[дт][ае]|[ндт][ае]н|н[ае]?|[ғгқк][ае]|[ндт][ыі]|[мбп]ен|(?:н?[дт][ае])?[ғг][ыі])?${WORD_END}`;
const RANGE = "(?: ?[-–—/] ?(\\d{1,4}))?";
const FIRST_YEAR = 1_001;
const LAST_YEAR = 2_199;

/** "2024 жылы", "1941-1945 жылдары", "2019-2020 оқу жылы": years are ordinals. "2000 жыл бұрын" is a count. */
const YEAR_WORD = `(?:жыл(?:ы|ғы|дың|ға|да|дан|дары|дардың|дарға|дарда|дардан|дардағы|ының|ында|ынан|ына|ындағы)?|ж\\.|жж\\.|гг?\\.)`;
const yearRule = patternRule(
  `(\\d{4})${RANGE}(?= ?(?:оқу )?${YEAR_WORD}(?![\\p{L}\\p{M}])(?! (?:бұрын|бойы|астам|аса|жуық|өтсе|тұрады|ішінде)))`,
  (match) => {
    const years = match[2] === undefined ? [match[1]!] : [match[1]!, match[2]];
    // "1941–45 жж.": the second year leaves out its century.
    if (!isYear(match[1]!) || !years.every((year) => isYear(year) || year.length === 2)) return null;
    return ordinals(years);
  },
);

/** "90-жылдары", "80–90 жылдардың": decades. */
const decadeRule = patternRule(`(\\d0)${RANGE}-? ?(?=жылдар(?:ы|да|дан|дың|ға)?)`, (match) =>
  ordinals(match[2] === undefined ? [match[1]!] : [match[1]!, match[2]]),
);

/** "20 ғ.": a century's number is an ordinal; "5 ғасыр" may be counted and stays a cardinal. */
const centuryRule = patternRule("(\\d{1,2})(?= ?ғғ?\\.)", ([, century = ""]) => ordinals([century]));

/** "ж." after a year: a date or more of the sentence asks for the possessive. */
const yearMarkRule: Rule = (text, at) => {
  const match = matchAt(/(жж?|гг?)\.( ?)/uy, text, at);
  if (match === null || !/\d ?$/.test(text.slice(Math.max(0, at - 3), at))) return null;
  // The Russian mark, "2024 г.", only behind four digits: "5 г." is grams.
  if (match[1]!.startsWith("г") && !/\d{4} ?$/.test(text.slice(Math.max(0, at - 5), at))) return null;
  const next = at + match[0].length;
  if (match[1]!.length === 2) return { spoken: "жылдар ", next: endOfMark(text, next) };
  if (DAY_MONTH.test(text.slice(next, next + 20))) return { spoken: "жылғы ", next };
  return { spoken: /^\p{L}/u.test(text.slice(next)) ? "жылы " : "жыл", next: endOfMark(text, next) };
};

/** "5 мамыр", "8-10 наурызда": days before a month are ordinals. */
const dayRule = patternRule(`(\\d{1,2})${RANGE}[ -](?=${MONTH_WORD})`, (match) => {
  const days = match[2] === undefined ? [match[1]!] : [match[1]!, match[2]];
  return days.every((day) => isDay(day)) ? ordinals(days) : null;
});
const DAY_MONTH = new RegExp(`^\\d{1,2} ${MONTH}`, "u");

const DATE = /(\d{1,2})([./])(\d{1,2})\2(\d{4})(?!\d)(?: ?(?:ж\.|жыл(?:ы|ғы)?(?![\p{L}\p{M}])))?/uy;
const ISO_DATE = /(\d{4})-(\d{2})-(\d{2})(?!\d)()/uy;

/** "05.05.2024", "2024-05-05": the year first, then the day of the month. */
function dateRule(text: string, at: number): Reading | null {
  const plain = matchAt(DATE, text, at);
  const iso = plain === null ? matchAt(ISO_DATE, text, at) : null;
  const match = plain ?? iso;
  if (match === null) return null;
  const [day, month, year] =
    iso === null ? [match[1]!, match[3]!, match[4]!] : [match[3]!, match[2]!, match[1]!];
  const monthName = MONTHS[Number(month) - 1];
  if (monthName === undefined || !isDay(day, month) || !isYear(year)) return null;
  const spoken = `${ordinals([year])} жылғы ${ordinals([day])} ${monthName}`;
  return readNumberEnding({ spoken, digits: null }, text, at + match[0].length);
}

/** "5 қаң.": the month in full. */
const shortMonthRule = patternRule(
  `(\\d{1,2}) (${Object.keys(SHORT_MONTHS).join("|")})\\.`,
  ([, day = "", month = ""]) => (isDay(day) ? `${ordinals([day])} ${SHORT_MONTHS[month] ?? ""}` : null),
);

/** "12 мамыр 2024": the year is an ordinal and has its word said. */
const yearAfterMonthRule = patternRule(
  `(?<=\\d{1,2} ${MONTH}(?:с?[ыі]нда)?,? )(\\d{4})(?![\\d.,:-]?\\d|-\\p{L}| ?(?:жыл|ж\\.|г\\.))`,
  ([, year = ""]) => (isYear(year) ? `${ordinals([year])} жыл` : null),
);

/** "12.05 күні": two numbers and a dot are a date only where the next word says so. */
const shortDateRule = patternRule(
  "(\\d{1,2})\\.(\\d{2})(?= (?:күні|күнгі|күнінде|күнінен|күніне)(?!\\p{L}))",
  ([, day = "", month = ""]) =>
    isDay(day, month) ? `${ordinals([day])} ${MONTHS[Number(month) - 1] ?? ""}` : null,
);

/** With a dot only after "сағат": "12.05" alone may be a date or a decimal. */
const TIME =
  /(24(?=:00)|[01]?\d|2[0-3])(?::|(?<=[Сс]ағат (?:кешкі |таңғы |түнгі |түскі )?\d{1,2})\.)([0-5]\d)(?::([0-5]\d))?(?![\d:])/uy;

/** "14:30" is "он төрт отыз", "9:00" is "тоғыз", "14:30-да" is "он төрт отызда". */
function timeRule(text: string, at: number): Reading | null {
  const match = matchAt(TIME, text, at);
  if (match === null) return null;
  const parts = [match[1]!, match[2]!, match[3] ?? ""].map((part) => (part === "" ? 0 : Number(part)));
  const spokenParts =
    match[3] === undefined && parts[1] === 0 ? parts.slice(0, 1) : parts.slice(0, match[3] ? 3 : 2);
  const spoken = spokenParts.map((part) => cardinal(String(part))).join(" ");
  return readNumberEnding({ spoken, digits: null }, text, at + match[0].length);
}

/** In the order they are tried, at a digit. */
export const CALENDAR_RULES: readonly Rule[] = [
  dateRule,
  timeRule,
  yearRule,
  shortDateRule,
  shortMonthRule,
  dayRule,
  decadeRule,
  centuryRule,
  yearAfterMonthRule,
];
/** At a letter. */
export const YEAR_MARK_RULE: Rule = yearMarkRule;

function ordinals(numbers: readonly string[]): string {
  return numbers.map((number) => ordinal(cardinal(String(Number(number))))).join(" — ");
}

function isYear(digits: string): boolean {
  return digits.length === 4 && Number(digits) >= FIRST_YEAR && Number(digits) <= LAST_YEAR;
}

/** @param month its number; without one any month may be meant */
function isDay(digits: string, month = "1"): boolean {
  const longest = LONGEST_MONTHS[Number(month) - 1] ?? 0;
  return digits.length <= 2 && Number(digits) >= 1 && Number(digits) <= longest;
}

/** The dot of an abbreviation also ends a sentence when a capital or nothing follows: then it stays. */
function endOfMark(text: string, next: number): number {
  if (/^(?:$|\p{Lu}|\n)/u.test(text.slice(next))) return text[next - 1] === " " ? next - 2 : next - 1;
  return next;
}
