import { matchAt } from "../kazakh/reading.js";
import { casesBefore, chosen } from "./agreement.js";
import type { Case, Grammar } from "./declension.js";
import { inCase } from "./declension.js";
import { endingIn, type Found, type Rule } from "./found.js";
import { MONTHS, YEAR } from "./nouns.js";
import { cardinal, ordinal } from "./numerals.js";

const MONTH = `(?:${MONTHS.join("|")})`;
const DASH = "[ \\u00a0]?(?:--?|[–—])[ \\u00a0]?";
const DAY = new RegExp(
  `(\\d{1,2})(?:(${DASH}|,? (?:и|или|по|до) |, )(\\d{1,2}))?(?=[ \\u00a0]${MONTH}(?!\\p{L}))`,
  "yui",
);
/** The first day of "с 5 по 10 мая", "5 и 6 мая". */
const EARLIER_DAY = new RegExp(
  `(\\d{1,2})(?=(?:, \\d{1,2}){0,4},? (?:и|или|по|до|на) \\d{1,2}[ \\u00a0]${MONTH}(?!\\p{L}))`,
  "yui",
);
const NUMERIC_DATES: readonly (readonly [pattern: RegExp, order: readonly [number, number, number]])[] = [
  [/(\d{1,2})\.(\d{1,2})\.(\d{4})(?![\d.])/y, [1, 2, 3]],
  [/(\d{1,2})\/(\d{1,2})\/(\d{4})(?![\d/])/y, [1, 2, 3]],
  [/(\d{1,2})-(\d{2})-(\d{4})(?![\d-])/y, [1, 2, 3]],
  [/(\d{4})-(\d{2})-(\d{2})(?![\d-])/y, [3, 2, 1]],
];
const YEAR_WORD = /(?:[ \u00a0]?г\.|[ \u00a0]года)(?!\p{L})/uy;
const TIME = /(\d{1,2}):(\d{2})(?::(\d{2}))?(?![\d:])/y;
/** Hours and minutes with a dot, if the adjacent words make it a time. */
const DOTTED_TIME = /(\d{1,2})\.(00|15|30|45)(?![\d.%])(?!\s?(?:%|руб|тыс|млн|кг|км|м|₽|₸|\$))/uy;
const BEFORE_TIME = /(?:^|[^\p{L}])(?:в|к|до|с|по|около|после|начало|часов)\s$/iu;
const SCORE = /(\d{1,3}):(\d{1,3})(?![\d:])/y;
const YEARS = new RegExp(`(\\d{3,4})(?:${DASH}(\\d{2,4}))?[ \\u00a0]?(гг?)\\.`, "yu");
const YEARS_BEFORE_PLURAL = new RegExp(
  `(\\d{4})(?:${DASH}(\\d{4}))?(?=[ \\u00a0](год(?:ы|ов|ам|ами|ах))(?!\\p{L}))`,
  "yu",
);
const LONE_YEAR = /(\d{4})(?![.,:]?\d|%|-|[ \u00a0]?(?:%|год(?:а|у|ом|е)?(?!\p{L})|лет))/uy;
const MONTH_BEFORE =
  /(?:^|[^\p{L}])(?:(?:январ|феврал|апрел|июн|июл|сентябр|октябр|ноябр|декабр)(?:[ьяюе]|ем)|(?:март|август)(?:а|у|ом|е)?|ма(?:й|я|ю|е|ем)|весной|летом|осенью|зимой|весны|лета|осени|зимы)[ \u00a0]$/iu;
const IN = /(?:^|[^\p{L}])во?\s$/iu;
/** Text after a year without its noun: a mark, a verb or a function word. */
const NOTHING_COUNTED =
  /^(?:\s*$|["»]?[,.;:!?)]|\s+[—–-]|\s+(?:и|а|но|он|она|они|в|на|с|из|по|за|под|его|её|ее|их|был\p{Ll}?|стал\p{Ll}?|\p{Ll}+(?:л|ла|ли|ло|лся|лась|лись|ет|ют|ит|ят)(?:ся)?)(?!\p{L}))/u;
const EARLIER_YEAR = /\d{4}(?=,? (?:и|или|по|до|на) \d{4}[ \u00a0]?г(?:г?\.|од))/uy;
const DECADE = /(?:1[5-9]|20)?[1-9]0(?=[ \u00a0](год(?:ы|ах))(?!\p{L}))/uy;
const YEAR_CASES: Readonly<Record<string, Case>> = {
  годы: "nominative",
  годов: "genitive",
  годам: "dative",
  годами: "instrumental",
  годах: "prepositional",
};
const FIRST_YEAR = 1_000;
const LAST_YEAR = 2_100;
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Reads "15 марта" as "пятнадцатого марта", and after "на" and "за" as "пятнадцатое". */
const dayRule: Rule = (text, at) => {
  const match = matchAt(DAY, text, at);
  const days = [match?.[1], match?.[3]].filter((day) => day !== undefined).map(Number);
  if (match !== null && days.every(isDay)) {
    const joint = match[2] ?? "";
    // "С 5 по 10 мая": the second day has its own case, so the first is read alone.
    if (days.length === 2 && !/^[ \u00a0]?[-–—]/.test(joint)) return dayAlone(text, at);
    return {
      next: at + match[0].length,
      grammar: dayGrammar(text, at),
      say: (grammar) => days.map((day) => ordinal(day, grammar)).join(" — "),
    };
  }
  return matchAt(EARLIER_DAY, text, at) === null ? null : dayAlone(text, at);
};

function dayAlone(text: string, at: number): Found | null {
  const digits = matchAt(/\d{1,2}/y, text, at)![0];
  if (!isDay(Number(digits))) return null;
  return {
    next: at + digits.length,
    grammar: dayGrammar(text, at),
    say: (grammar) => ordinal(Number(digits), grammar),
  };
}

function isDay(day: number): boolean {
  return day >= 1 && day <= 31;
}

/** Returns the genitive by default: the day on which something happens. */
function dayGrammar(text: string, at: number): Grammar {
  const of = casesBefore(text, at);
  return { ...chosen(of, []), case: of?.[0] ?? "genitive", gender: "neuter" };
}

/** Reads "15.03.2026" and "2026-03-15", also followed by "г." or "года". */
const numericDateRule: Rule = (text, at) => {
  for (const [pattern, order] of NUMERIC_DATES) {
    const match = matchAt(pattern, text, at);
    if (match === null) continue;
    const [day, month, year] = order.map((group) => Number(match[group])) as [number, number, number];
    if (month < 1 || month > 12 || day < 1 || day > DAYS[month - 1]!) return null;
    const word = matchAt(YEAR_WORD, text, at + match[0].length);
    const next = at + match[0].length + (word?.[0].length ?? 0);
    const rest = `${MONTHS[month - 1]!} ${ordinal(year, genitive("masculine"))} года${endingIn(text, next)}`;
    return { next, grammar: dayGrammar(text, at), say: (grammar) => `${ordinal(day, grammar)} ${rest}` };
  }
  return null;
};

/** Reads "14:30" as "четырнадцать тридцать", and "3:1" as a score. */
const timeRule: Rule = (text, at) => {
  const isDotted = BEFORE_TIME.test(text.slice(Math.max(0, at - 9), at));
  const match = matchAt(TIME, text, at) ?? (isDotted ? matchAt(DOTTED_TIME, text, at) : null);
  const score = match === null ? matchAt(SCORE, text, at) : null;
  const found = match ?? score;
  if (found === null) return null;
  const [, first = "", ...rest] = found;
  const others = rest.filter((part) => part !== undefined);
  return {
    next: at + found[0].length,
    grammar: { ...chosen(casesBefore(text, at), []), gender: "masculine" },
    say: (grammar) =>
      [cardinal(Number(first), grammar), ...others.map((part) => minutes(part, grammar))].join(" "),
  };
};

/** Reads minutes: "ноль ноль", "ноль пять", "тридцать". */
function minutes(digits: string, grammar: Grammar): string {
  if (digits === "00") return "ноль ноль";
  const said = cardinal(Number(digits), grammar);
  return digits.length === 2 && digits.startsWith("0") ? `ноль ${said}` : said;
}

/** Reads "в 2005 г.", "1941–1945 гг." */
const yearMarkRule: Rule = (text, at) => {
  const match = matchAt(YEARS, text, at);
  if (match === null) return null;
  const [written, first = "", second, mark] = match;
  if (mark === "г" && !isYear(Number(first))) return null;
  const next = at + written.length;
  const years = second === undefined ? [first] : [first, second];
  const isSeveral = mark === "гг";
  const end = endingIn(text, next);
  return {
    next,
    grammar: yearGrammar(text, at),
    say: (grammar) => {
      const masculine: Grammar = { ...grammar, gender: "masculine" };
      const said = years.map((year) => ordinal(Number(year), masculine)).join(" — ");
      const plural = ["годы", "годов", "годам", "годы", "годами", "годах"];
      return `${said} ${inCase(isSeveral ? plural : YEAR.singular, grammar.case)}${end}`;
    },
  };
};

/**
 * Chooses the case of a year: prepositional after "в", genitive where nothing decides, as in "весна 2005 г."
 */
function yearGrammar(text: string, at: number): Grammar {
  const cases = casesBefore(text, at);
  const isIn = IN.test(text.slice(Math.max(0, at - 4), at));
  return { case: isIn ? "prepositional" : (cases?.[0] ?? "genitive"), gender: "masculine", isAnimate: false };
}

/** Reads "в 1941–1945 годах", "и 2016 годах". */
const yearsRule: Rule = (text, at) => {
  const match = matchAt(YEARS_BEFORE_PLURAL, text, at);
  if (match === null || !isYear(Number(match[1]))) return null;
  const [written, first, second, word = ""] = match;
  return {
    next: at + written.length,
    grammar: { case: YEAR_CASES[word]!, gender: "masculine", isAnimate: false },
    say: (grammar) => {
      const years = [first, second].filter((year) => year !== undefined);
      return years.map((year) => ordinal(Number(year), grammar)).join(" — ");
    },
  };
};

/** Reads the first year of "с 1968 по 1970 год". */
const earlierYearRule: Rule = (text, at) => {
  const match = matchAt(EARLIER_YEAR, text, at);
  if (match === null || !isYear(Number(match[0]))) return null;
  return {
    next: at + match[0].length,
    grammar: yearGrammar(text, at),
    say: (grammar) => ordinal(Number(match[0]), grammar),
  };
};

/** Reads "в 70 годы" as "в семидесятые годы"; "к 30 годам" is an age. */
const decadeRule: Rule = (text, at) => {
  const match = matchAt(DECADE, text, at);
  if (match === null) return null;
  const [digits, word = ""] = match;
  return {
    next: at + digits.length,
    grammar: { case: YEAR_CASES[word]!, gender: "plural", isAnimate: false },
    say: (grammar) => ordinal(Number(digits), grammar),
  };
};

/** Reads "в мае 1998" and "в 1730 вернулся", which omit the word "год". */
const loneYearRule: Rule = (text, at) => {
  const match = matchAt(LONE_YEAR, text, at);
  if (match === null || !isYear(Number(match[1]))) return null;
  const next = at + match[0].length;
  const before = text.slice(Math.max(0, at - 12), at);
  const isInYear = IN.test(before) && NOTHING_COUNTED.test(text.slice(next, next + 24));
  if (!isInYear && !MONTH_BEFORE.test(before)) return null;
  return {
    next,
    grammar: { case: isInYear ? "prepositional" : "genitive", gender: "masculine", isAnimate: false },
    say: (grammar) => ordinal(Number(match[1]), grammar),
  };
};

function isYear(value: number): boolean {
  return value >= FIRST_YEAR && value <= LAST_YEAR;
}

function genitive(gender: Grammar["gender"]): Grammar {
  return { case: "genitive", gender, isAnimate: false };
}

export const CALENDAR_RULES: readonly Rule[] = [
  numericDateRule,
  dayRule,
  yearMarkRule,
  decadeRule,
  yearsRule,
  earlierYearRule,
  loneYearRule,
  timeRule,
];
