import { timeCase } from "./abbreviations.js";
import { LOWER } from "./letters.js";
import { readNumberEnding } from "./number-endings.js";
import { cardinal, ordinal } from "./numerals.js";
import { matchAt, patternRule, type Reading, type Rule, SENTENCE_STARTERS, WORD_END } from "./reading.js";
import { isEnding, withEnding } from "./suffixes.js";
import { wordTable } from "./word-table.js";

/** Source: Unicode CLDR main/kk ca-gregorian. */
const MONTHS = "қаңтар ақпан наурыз сәуір мамыр маусым шілде тамыз қыркүйек қазан қараша желтоқсан".split(
  " ",
);
const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** Source: month rows of facts-kk.tsv, the short forms; only after a day and with a dot. */
const SHORT_MONTHS = wordTable(`
қаң: қаңтар; ақп: ақпан; нау: наурыз; сәу: сәуір; мам: мамыр; мау: маусым; шіл: шілде; там: тамыз;
қыр: қыркүйек; қаз: қазан; қар: қараша; жел: желтоқсан
`);
const MONTH = `(?:${MONTHS.join("|")}|қыркүйег)`;
/** A month name, with a possessive or case ending at most: "қазанда", but not "қазандық". */
const MONTH_WORD = `${MONTH}(?:с?[ыі])?(?:[ндт][ыі]ң|н?[дт][ае]|[ндт][ае]н|н[ае]?|[ғгқк][ае]|[ндт][ыі]|[мбп]ен|(?:н?[дт][ае])?[ғг][ыі])?${WORD_END}`;
const RANGE = "(?: ?[-–—/] ?(\\d{1,4}))?";
const FIRST_YEAR = 1_001;
const LAST_YEAR = 2_199;

/**
 * "2024 жылы", "1941-1945 жылдары", "2019-2020 оқу жылы": years are ordinals. "2000 жыл бұрын" is a count.
 */
const YEAR_WORD =
  "жыл(?:ы|ғы|дың|ға|да|дан|дар\\p{Ll}*|ының|ында|ынан|ына|ын|ымен|ындағы)?|ж\\. ?ж\\.|жж\\.|ж\\.|гг?\\.|жж?-[дғлы]\\p{Ll}{0,7}|ж(?= (?:\\p{Ll}|$))";
const COUNTED = " (?:бұрын|бойы|астам|аса|артық|кем|жуық|өтсе|өтті|тұрады|ішінде|кейін|сайын)";
/** In "2021–2025-інші жылдар" the ending is part of the reading. */
const ORDINAL_ENDING = "(?:-(?:[ыі]н|сын|н)?ш[ыі])?";
const yearRule = patternRule(
  `(\\d{4})${RANGE}${ORDINAL_ENDING}(?=-? ?(?:оқу )?(${YEAR_WORD})(?:(?<=ж\\.)|(?![\\p{L}\\p{M}]))(${COUNTED})?)-?`,
  (match) => {
    const [, first = "", second, word = "", counted] = match;
    const years = second === undefined ? [first] : [first, second];
    // Counts have no plural, so "1990-1995 жылдар ішінде" is a time.
    if (counted !== undefined && /^(?:жыл(?:дан|да|ға)?|ж\.)$/.test(word)) return null;
    // "1941–45 жж.": the second year leaves out its century.
    if (!isYear(first) || !years.every((year) => isYear(year) || year.length === 2)) return null;
    return ordinals(years);
  },
);

/** Reads each year of a list as an ordinal: "1986, 1990 және 1995 жылдары", "1920–21, 1930–32 жж.". */
const listedYearRule = patternRule(
  "(\\d{4})(?:[-–—](\\d{4}|\\d{2}))?(?=(?:(?:, | және | мен | пен | не | немесе |, әрі )\\d{4}(?:[-–—]\\d{2,4})?){1,6} ?-?(?:жылдар|жж\\.|ж\\.|жылы))",
  ([, year = "", last]) => (isYear(year) ? ordinals(last === undefined ? [year] : [year, last]) : null),
);

/** Reads "751 жылы": three digits are a year only with a possessive. */
const earlyYearRule = patternRule(
  `(?<![\\d.,–—-] ?)(\\d{3})${RANGE}(?=-? ?(?:жыл(?:ы|ғы|дары)(?![\\p{L}\\p{M}])|жж\\.|ж\\.(?= ?\\p{L})(?!${COUNTED})))-?`,
  ([, first = "", second]) => ordinals(second === undefined ? [first] : [first, second]),
);

/** After "б.з.д." and the like every year, century and millennium is an ordinal: "б.з.б. 330 ж.". */
const ERA_BEFORE =
  /(?:^|[^\p{L}])(?:б\. ?[здэ]\. ?(?:[дб]\.)?|ж\. ?с\. ?[дб]\.|заман\p{Ll}+ (?:дейін|бұрын)\p{Ll}*|заманымыздың|эрамыз\p{Ll}*(?: дейін\p{Ll}*| бұрын\p{Ll}*)?)[ ,—–-]{0,3}(?:шамамен |жуық |ерте )?$/iu;
const ERA_NUMBER = new RegExp(
  `(\\d{1,5})${RANGE}(?=-? ?(?:ж\\.|жж\\.|ғғ?\\.|ғ-\\p{Ll}|жыл(?!дай|дық| бұрын)|ғасыр|мыңж))-?`,
  "uy",
);
function eraRule(text: string, at: number): Reading | null {
  const match = matchAt(ERA_NUMBER, text, at);
  if (match === null || !ERA_BEFORE.test(text.slice(Math.max(0, at - 48), at))) return null;
  const [written, first = "", second] = match;
  return { spoken: ordinals(second === undefined ? [first] : [first, second]), next: at + written.length };
}

/** Reads decades: "90-жылдары", "80–90 жылдардың", "60-70 ж.ж.". */
const decadeRule = patternRule(
  `(\\d0)${RANGE}${ORDINAL_ENDING}-? ?(?=жылдар\\p{Ll}*|жж\\.|ж\\. ?ж\\.|ж\\. (?:соңы|басы|орта|аяғ))`,
  ([, first = "", second]) => ordinals(second === undefined ? [first] : [first, second]),
);

/**
 * "20 ғ.", "20 ғасырда": a century's number is an ordinal; "5 ғасыр бойы" is counted and stays a cardinal.
 */
const centuryRule = patternRule(
  `(\\d{1,2})${RANGE}(?=-? ?(?:ғғ?\\.|ғ-\\p{Ll}|ғ(?= \\p{Ll})|(?:ғасыр|мыңжылдық)(?:да|та|дағы|тағы|дың|тың)(?![\\p{L}\\p{M}])(?! (?:ішінде|бойы))|(?<=[-–—] ?\\d{1,2}-? ?)ғасыр(?:лар)?))-?`,
  ([, first = "", second]) => ordinals(second === undefined ? [first] : [first, second]),
);

/** Reads "ж." after a year: possessive before a date or the rest of a sentence, plural after two years. */
const yearMarkRule: Rule = (text, at) => {
  const match = matchAt(/(ж\. ?ж|жж?|гг?)\.( ?)|ж(?= (?:\p{Ll}|$))|жж?(?=-\p{Ll})/uy, text, at);
  const before = text.slice(Math.max(0, at - 14), at);
  if (match === null || !/\d(?:-?\p{Ll}{1,5})?[ -]?$/u.test(before)) return null;
  const [written, mark = "ж"] = match;
  const hyphenated = matchAt(ENDED_MARK, text, at);
  if (hyphenated !== null && isEnding(hyphenated[2]!)) {
    const ended = hyphenated[1] === "жж" || IS_RANGE.test(before) ? "жылдар" : "жыл";
    return { spoken: withEnding(ended, hyphenated[2]!), next: at + hyphenated[0].length };
  }
  // The Russian mark, "2024 г.", and a year without a dot need four digits: "5 г." is grams.
  if ((mark.startsWith("г") || mark === written) && !/\d{4} ?$/.test(before)) return null;
  const next = at + written.length;
  const rest = text.slice(next, next + 24);
  const goesOn = !ENDS.test(rest) && /^[\p{L}\d]/u.test(mark === written ? rest.trimStart() : rest);
  const isPlural = mark.length > 1 || IS_RANGE.test(before);
  const name = isPlural ? "жылдар" : "жыл";
  // "2000 ж. бұрын" means that many years ago.
  if (!isPlural && /^ ?бұрын(?!\p{L})/u.test(rest)) return { spoken: "жыл ", next };
  const ending = timeCase(name, rest);
  if (ending !== "") return { spoken: `${name}${ending} `, next };
  const life = isPlural || mark === written ? null : LIFE_MARK.exec(rest);
  if (life !== null) {
    const end = next + life[0].length;
    const stop = TEXT_END.test(text.slice(end, end + 8)) ? "." : "";
    return { spoken: `жылы ${life[1] === undefined ? "туған" : "қайтыс болған"}${stop}`, next: end };
  }
  if (isPlural) {
    return {
      spoken: goesOn && !PLURAL_BEFORE.test(rest) ? "жылдары " : "жылдар ",
      next: endOfMark(text, next),
    };
  }
  if (DAY_MONTH.test(rest)) return { spoken: "жылғы ", next };
  // "ХХ ғ. 80 ж. соңында" is a decade.
  if (!isPlural && DECADE_BEFORE.test(before) && PART_OF_TIME.test(rest))
    return { spoken: "жылдардың ", next };
  const isCount = COUNT_BEFORE.test(before) && !ERA_BEFORE.test(eraPart(text, at));
  return { spoken: goesOn && !isCount ? "жылы " : "жыл ", next: endOfMark(text, next) };
};
/** Marks with an ending: "жж-да", "ж-ы". */
const ENDED_MARK = new RegExp(`(жж?)-([${LOWER}]+)${WORD_END}`, "yu");
const IS_RANGE = /\d ?[-–—/] ?\d{1,4} ?$/;
/** Marks of birth and death in that year: "1897 ж. т.", "1936 ж. қ.б." */
const LIFE_MARK = /^ ?(?:т\.(?! ?(?:\d|[бст]\.))|(қ\. ?б\.))/u;
/** "40 ж. жұмыс істеді" is a count: two digits are a year only after an era. */
const COUNT_BEFORE = /(?:^|[^\d.,–—-] ?)(?<![\d–—-] ?)\d{1,2} ?$/;
const DECADE_BEFORE = /(?<!\d)\d0 ?$/;
const PART_OF_TIME = /^ ?(?:соңы|басы|ортасы|аяғы)/u;
const PLURAL_BEFORE = /^ ?(?:аралығ|аралық|бойы|ішінде|арасында)/u;

/** Returns the text before the number that ends at `at`. */
function eraPart(text: string, at: number): string {
  return text.slice(Math.max(0, at - 52), at).replace(/\d{1,4} ?$/, "");
}
const TEXT_END = /^\s*$/u;

/** Reads days before a month as ordinals: "5 мамыр", "8-10 наурызда". */
const dayRule = patternRule(`(\\d{1,2})${RANGE}[ -](?=${MONTH_WORD})`, (match) => {
  const days = match[2] === undefined ? [match[1]!] : [match[1]!, match[2]];
  return days.every((day) => isDay(day)) ? ordinals(days) : null;
});
const DAY_MONTH = new RegExp(`^\\d{1,2} ${MONTH}`, "u");

const DATE = /(\d{1,2})([./])(\d{1,2})\2(\d{4})(?!\d)(?: ?(?:ж\.|жыл(?:ы|ғы)?(?![\p{L}\p{M}])))?/uy;
const ISO_DATE = /(\d{4})-(\d{2})-(\d{2})(?!\d)()/uy;

/** Reads dates: "05.05.2024", "2024-05-05". Speaks the year first, then the day of the month. */
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

/** Reads "5 қаң." with the month in full. */
const shortMonthRule = patternRule(
  `(\\d{1,2}) (${Object.keys(SHORT_MONTHS).join("|")})\\.`,
  ([, day = "", month = ""]) => (isDay(day) ? `${ordinals([day])} ${SHORT_MONTHS[month] ?? ""}` : null),
);

/** Reads the year of "12 мамыр 2024" as an ordinal, and adds its word. */
const yearAfterMonthRule = patternRule(
  `(?<=\\d{1,2} ${MONTH}(?:с?[ыі]нда)?,? )(\\d{4})(?![\\d.,:-]?\\d|-\\p{L}| ?(?:жыл|ж\\.|г\\.))`,
  ([, year = ""]) => (isYear(year) ? `${ordinals([year])} жыл` : null),
);

/** Reads "12.05 күні": two numbers and a dot are a date only before such a word. */
const shortDateRule = patternRule(
  "(\\d{1,2})\\.(\\d{2})(?= (?:күні|күнгі|күнінде|күнінен|күніне)(?!\\p{L}))",
  ([, day = "", month = ""]) =>
    isDay(day, month) ? `${ordinals([day])} ${MONTHS[Number(month) - 1] ?? ""}` : null,
);

/** A dot needs a context of time: "12.05" alone may be a date or a decimal. */
const TIME = /(24(?=[:.]00)|[01]?\d|2[0-3])([:.])([0-5]\d)(?:\2([0-5]\d))?(?![\d:])(?!\.\d)/uy;
/**
 * Words before a time with a dot, "сағат 9.30", "таңғы 7.45", and before the second of two: "сағат 9.30-дан
 * 18.00-ге".
 */
const CLOCK_BEFORE =
  /(?:сағат|таңғы|таңертеңгі|түскі|кешкі|түнгі|(?:жергілікті|Астана|Алматы|Мәскеу) уақыт(?:ы бойынша|ымен)|уақыты:?) (?:(?:кешкі|таңғы|түнгі|түскі) )?(?:[0-2]?\d[.:][0-5]\d(?:-?[дтн][ае]н)?(?: ?[-–—,] ?| | мен | және | пен ))?$/iu;
/** Verbs after a time, and the end of a range of times. */
const CLOCK_AFTER =
  /^(?:-[дт][ае] (?:баста|аш|аяқта|жаб|кел|кет|шық|біт|өт|жина|бол)|-[дн]?[дтн][ае]н [0-2]?\d\.[0-5]\d-[ғгқк][ае] (?:дейін|шейін))/u;
const CLOCK_RANGE_BEFORE = /(?<![\d.,])[0-2]?\d\.[0-5]\d-[дтн][ае]н $/u;

/** Reads "14:30" as "он төрт отыз", "9:00" as "тоғыз", and "14:30-да" as "он төрт отызда". */
function timeRule(text: string, at: number): Reading | null {
  const match = matchAt(TIME, text, at);
  if (match === null) return null;
  const end = at + match[0].length;
  if (match[2] === "." && !isClock(text, at, end)) return null;
  // A score, "27:37 есебіне", is not a time; "12:10 есебімен" could be one.
  if (/^ есе[пб]/.test(text.slice(end, end + 6))) return null;
  const parts = [match[1]!, match[3]!, match[4] ?? ""].map((part) => (part === "" ? 0 : Number(part)));
  const spokenParts =
    match[4] === undefined && parts[1] === 0 ? parts.slice(0, 1) : parts.slice(0, match[4] ? 3 : 2);
  const spoken = spokenParts.map((part) => cardinal(String(part))).join(" ");
  return readNumberEnding({ spoken, digits: null }, text, end);
}

function isClock(text: string, at: number, end: number): boolean {
  const before = text.slice(Math.max(0, at - 48), at);
  if (CLOCK_BEFORE.test(before)) return true;
  const after = text.slice(end, end + 24);
  const isRange = (HOURS_AFTER.test(after) || HOURS_BEFORE.test(before)) && !/^ ?[\d,]/.test(after);
  if (isRange && ON_THE_CLOCK.test(text.slice(at, end)) && !MEASURE_AFTER.test(after)) return true;
  // "10.00 Ашылу салтанаты" is a line of a schedule.
  const isLineStart = at === 0 || text[at - 1] === "\n";
  if (isLineStart && PROGRAMME.test(text.slice(at, at + 12))) return true;
  return (
    CLOCK_AFTER.test(after) ||
    (CLOCK_RANGE_BEFORE.test(before) && /^-[ғгқк][ае] (?:дейін|шейін)/u.test(after))
  );
}

/**
 * In quarters of an hour, as in "9.00–18.00": no month has these numbers, and Kazakh decimals have a comma.
 */
const ON_THE_CLOCK = /^\d{1,2}\.(?:00|15|30|45)$/;
const HOURS_AFTER =
  /^ ?[-–—] ?(?:2[0-4]|1?\d)\.(?:00|15|30|45)(?![\d.,]| ?[%₸$€₽]| (?:теңге|млн|млрд|мың|кг|км|м|см|мм|пайыз|балл)(?!\p{L}))/u;
const HOURS_BEFORE = /(?<![\d.,])(?:2[0-4]|[01]?\d)\.(?:00|15|30|45) ?[-–—] ?$/;
const MEASURE_AFTER = /^ ?(?:[%₸$€₽]|(?:теңге|млн|млрд|мың|кг|км|м|см|мм|пайыз|балл)(?!\p{L}))/u;
const PROGRAMME = /^(?:0\d|1\d|2[0-3])\.(?:00|30)(?: [-–—])? \p{Lu}\p{Ll}/u;

/** Rules for positions at a digit, in order. */
export const CALENDAR_RULES: readonly Rule[] = [
  dateRule,
  timeRule,
  eraRule,
  yearRule,
  listedYearRule,
  earlyYearRule,
  shortDateRule,
  shortMonthRule,
  dayRule,
  decadeRule,
  centuryRule,
  yearAfterMonthRule,
];
/** The rule for positions at a letter. */
export const YEAR_MARK_RULE: Rule = yearMarkRule;

function ordinals(numbers: readonly string[]): string {
  return numbers.map((number) => ordinal(cardinal(String(Number(number))))).join(" — ");
}

function isYear(digits: string): boolean {
  return digits.length === 4 && Number(digits) >= FIRST_YEAR && Number(digits) <= LAST_YEAR;
}

/** @param month number of the month; any month by default */
function isDay(digits: string, month = "1"): boolean {
  const longest = LONGEST_MONTHS[Number(month) - 1] ?? 0;
  return digits.length <= 2 && Number(digits) >= 1 && Number(digits) <= longest;
}

const ENDS = new RegExp(`^(?:$|\\n|(?:${SENTENCE_STARTERS})(?!\\p{L}))`, "u");
/** Keeps the dot of an abbreviation where it also ends the sentence. */
function endOfMark(text: string, next: number): number {
  if (ENDS.test(text.slice(next, next + 16))) return text[next - 1] === " " ? next - 2 : next - 1;
  return next;
}
