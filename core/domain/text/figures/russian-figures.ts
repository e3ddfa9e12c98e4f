import { knownFormsOf } from "../russian/nouns.js";
import { roman } from "../russian/roman.js";
import { isCode } from "./code-cues.js";
import { isInDuration } from "./durations.js";
import { type Joints, withoutMixedPairs } from "./mixed-pairs.js";
import {
  grouped,
  isRange,
  isUnclearSum,
  LONGEST_RUN,
  onlyNumber,
  type SpelledNumber,
  saidDigits,
  scaleSaidOnce,
  splitNumbers,
} from "./number-words.js";
import { compoundOf } from "./russian-compounds.js";
import { isHour, isInAddress, isJoinedToFigure, isSaying } from "./russian-meanings.js";
import { DECADE, isInRange, ordinalRange } from "./russian-ranges.js";
import { acceptsRussian } from "./russian-read-back.js";
import { type RussianNumberWord, russianNumberWord } from "./russian-words.js";
import { isSignedPair } from "./signs.js";
import type { Figures, Written } from "./written.js";

const MONTH =
  /^(?:январ|феврал|апрел|июн|июл|сентябр|октябр|ноябр|декабр)(?:ь|я|ю|ем|е)$|^(?:март|август)(?:|а|у|ом|е)$|^ма(?:й|я|ю|ем|е)$/;
const MONTH_GENITIVE =
  /^(?:января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря)$/;
const YEAR = /^год(?:|а|у|ом|е)$/;
const CENTURY = /^век(?:|а|у|ом|е|ов|ах|ами)$|^столети(?:е|я|ю|ем|и|й)$/;
const LONGEST_ROMAN = 21;
/** Nouns whose numbers are always written in digits: money, units, per cent. */
const MEASURE =
  /^(?:тенге|тиын\p{Ll}*|рубл\p{Ll}*|копе\p{Ll}*|доллар\p{Ll}*|цент\p{Ll}{0,3}|евро|юан\p{Ll}*|сом\p{Ll}{0,2}|процент\p{Ll}*|градус\p{Ll}*|(?:кило|санти|милли)?метр(?:|а|ов|у|ам|ами|ах|е|ом)|(?:кило|милли)?грамм?(?:|а|ов|у|ам|ами|ах|е|ом)|тонн\p{Ll}{0,3}|литр\p{Ll}{0,3}|гектар\p{Ll}{0,3}|(?:секунд|минут)(?:|а|ы|у|е|ой|ам|ами|ах)|час(?:|а|ов|у|ам|ами|ах|е|ом)|(?:кило|мега|гига)?ватт\p{Ll}*|(?:мега|гига|кило)?байт\p{Ll}*|балл(?:|а|ов))$/u;
/**
 * "Сорока" is also a magpie, "семью" a family, "одни" alone: they are numbers only where the words around
 * them count.
 */
const AMBIGUOUS = new Set(["сорока", "семью", "три", "сот", "тысячах", "одни", "одних", "одними"]);
const COUNTING_BEFORE =
  /^(?:около|до|от|из|с|со|после|более|менее|свыше|больше|меньше|порядка|почти|примерно|из-за|для|без|не|на|в|к|по|между|через|за|под|над|перед)$/;
const GENITIVE_BEFORE = /^(?:около|до|от|более|менее|свыше|больше|меньше|порядка)$/;
const FIRST_YEAR = 1_000;
const A_THOUSAND = /^тысяч(?:а|у|ей)$/;
const PERCENT = /^процент(?:|а|ов)$/;
const WHOLE = /^цел(?:ых|ая|ой|ую|ыми|ым)$/;
const DENOMINATORS: readonly (readonly [RegExp, number])[] = [
  [/^десят(?:ых|ая|ой|ую|ыми|ым)$/, 1],
  [/^сот(?:ых|ая|ой|ую|ыми|ым)$/, 2],
  [/^тысячн(?:ых|ая|ой|ую|ыми|ым)$/, 3],
];
const CLOCK_BEFORE = /^(?:в|к|до|с|со|после|около|на|с|часов|время)$/;
const LEAST_PHONE_WORDS = 5;
const PHONE = /^([78])(\d{3})(\d{3})(\d{2})(\d{2})$/;
const SCALE_NAMES: ReadonlyMap<number, string> = new Map([
  [1e12, "трлн"],
  [1e9, "млрд"],
  [1e6, "млн"],
]);
const ROUND_SCALES = new Set([1e2, 1e3, 1e6, 1e9]);
/** "Столетний", "тысячелетний", "стократно" are ordinary words. */
const WORDS_OF_THEIR_OWN = new Set([100, 1_000]);
/** "Десятая часть" is a tenth. */
const PART = /^(?:част|дол[яеию])/;
const NOT_A_TIME = /^(?:раз|лет|дней|человек|штук|вёрст|верст|тысяч)$/;
const LEAST_FIGURE = 10;
const SCORE_BEFORE = /^(?:сч[её]т(?:|ом|а|е)|выигра\p{Ll}*|проигра\p{Ll}*|побед\p{Ll}*)$/u;

interface Run {
  readonly words: readonly RussianNumberWord[];
  readonly first: number;
}

/** `text` is null if the words stay. */
interface Found {
  readonly end: number;
  readonly text: string | null;
  /** Tried if the text does not read back as spoken: "двенадцать целых пять десятых процентов". */
  readonly otherwise?: Found;
}

/**
 * Writes the numbers of a Russian transcript in digits.
 *
 * A form is used only if some grammatical reading of it equals the spoken words.
 *
 * @param words lower case
 */
export const russianFigures: Figures = (words, numerals) => {
  const written: Written[] = [];
  for (let at = 0; at < words.length; ) {
    const found = numberAt(words, at, numerals);
    const taken = [found, found?.otherwise].find((form) => isReadBack(words, at, form));
    if (taken?.text == null) {
      // Keeps the words unless the digits read back identically.
      const end = found?.end ?? at + 1;
      for (; at < end; at++) written.push({ text: words[at]!, first: at, end: at + 1 });
      continue;
    }
    written.push({ text: taken.text, first: at, end: taken.end });
    at = taken.end;
  }
  return numerals === "auto" ? withoutMixedPairs(words, written, JOINTS) : written;
};

const COLLECTIVE = /^(?:двое|трое|четверо|пятеро|шестеро|семеро|восьмеро|девятеро|десятеро)$/;
const JOINTS: Joints = {
  numberWord: (word) => russianNumberWord(COLLECTIVE.test(word) ? "пять" : word),
  joint: /^(?:или|либо|иль|и|к|на|из|по)$/,
  until: /^(?:до|по|или|либо|иль)$/,
  from: null,
  preposition: /^(?:в|из|с|до|на|за|к)$/,
};

function isReadBack(words: readonly string[], at: number, found: Found | null | undefined): boolean {
  return found?.text != null && acceptsRussian(words, at, found.end, found.text);
}

function numberAt(words: readonly string[], at: number, numerals: "auto" | "all"): Found | null {
  const run = runAt(words, at);
  if (run === null) return compoundWord(words[at]!, at, numerals);
  return (
    phone(run) ??
    commonFraction(run, numerals) ??
    decimal(words, run) ??
    clock(words, run) ??
    ordinalRange(words, run) ??
    plainNumber(words, run, numerals)
  );
}

/** Consecutive number words; only the last may be an ordinal. */
function runAt(words: readonly string[], first: number): Run | null {
  const found: RussianNumberWord[] = [];
  for (let at = first; at < words.length; at++) {
    const word = russianNumberWord(words[at]!);
    if (word === null) break;
    found.push(word);
    if (word.isOrdinal || found.length === LONGEST_RUN) break;
  }
  return found.length === 0 ? null : { words: found, first };
}

function plainNumber(words: readonly string[], { words: run, first }: Run, numerals: "auto" | "all"): Found {
  const numbers = splitNumbers(run);
  const end = first + run.length;
  const [number] = numbers ?? [];
  if (numbers === null || number === undefined) return { end, text: null };
  const last = run.at(-1)!;
  const next = words[end] ?? "";
  if (numbers.length > 1) return severalNumbers(words, { words: run, first }, numbers, numerals);
  const isShort = run.length === 1;
  if (
    isShort &&
    AMBIGUOUS.has(words[first]!) &&
    !(numerals === "all" && words[first] === "три") &&
    !COUNTING_BEFORE.test(words[first - 1] ?? "") &&
    !MEASURE.test(next) &&
    knownFormsOf(next).length === 0
  ) {
    return { end, text: null };
  }
  const { value } = number;
  if (last.isOrdinal) {
    // "Миллионный город", "сотый раз", "десятая часть".
    const isWord = value % 1_000 === 0 || value === 100 || PART.test(next) || isSaying(words, first, value);
    const isYear = YEAR.test(next) && value > FIRST_YEAR;
    if (isShort && numerals === "auto" && isWord && !isYear) return { end, text: null };
    if (isShort && ROUND_SCALES.has(value) && value > 100) return { end, text: null };
    const isOfMonth = MONTH.test(words[first - 1] ?? "");
    const isInPair = isInRange(words, first, end, () => false) || isFirstDay(words, end);
    if (isInPair && value <= 31 && !MONTH.test(next)) return { end, text: `${value}-${last.suffix}` };
    const isWordOnly = isHour(words, first, last, numerals);
    return { end, text: isWordOnly ? null : ordinal(value, last, { next, isOfMonth }, numerals) };
  }
  if (isShort && numerals === "auto" && isSaying(words, first, value)) return { end, text: null };
  const isSure =
    MEASURE.test(next) ||
    (MONTH_GENITIVE.test(next) && value <= 31) ||
    isInRange(words, first, end, (word) => MEASURE.test(word)) ||
    isJoinedToFigure(words, first, value) ||
    isSignedPair(words, first, end, (at) => isLargeOrMeasured(words, at)) ||
    isInDuration(words, first, end, {
      numberWord: russianNumberWord,
      numberAt: (at) => numberFrom(words, at),
    }) ||
    isInAddress(words, first, end);
  // "Тысячи людей", "миллион раз": a scale alone is a word.
  if (isShort && last.role === "scale" && !isThousand(words, first, isSure || numerals === "all")) {
    return { end, text: null };
  }
  if (numerals === "auto" && ((!isSure && value < LEAST_FIGURE) || isUnclearSum(value)))
    return { end, text: null };
  if (PERCENT.test(next))
    return { end: end + 1, text: `${grouped(value)} %`, otherwise: { end, text: grouped(value) } };
  return { end, text: sum(value) };
}

/** Whether the number that starts at `at` is written in digits. */
function isLargeOrMeasured(words: readonly string[], at: number): boolean {
  const number = numberFrom(words, at);
  return number !== null && (number.value >= LEAST_FIGURE || MEASURE.test(words[number.end] ?? ""));
}

function numberFrom(words: readonly string[], at: number): { value: number; end: number } | null {
  const run = runAt(words, at)?.words ?? [];
  const value = run.at(-1)?.isOrdinal === false ? onlyNumber(run) : null;
  return value === null ? null : { value, end: at + run.length };
}

/** "С первого по десятое мая". */
function isFirstDay(words: readonly string[], end: number): boolean {
  if (!/^(?:по|до|и)$/.test(words[end] ?? "")) return false;
  const run = runAt(words, end + 1)?.words ?? [];
  return run.at(-1)?.isOrdinal === true && MONTH.test(words[end + 1 + run.length] ?? "");
}

/** "Тысячу тенге", "более тысячи". */
function isThousand(words: readonly string[], at: number, isSure: boolean): boolean {
  const isGenitive = words[at] === "тысячи" && GENITIVE_BEFORE.test(words[at - 1] ?? "");
  return isSure && (isGenitive || A_THOUSAND.test(words[at]!));
}

function ordinal(
  value: number,
  { suffix }: RussianNumberWord,
  { next, isOfMonth }: { readonly next: string; readonly isOfMonth: boolean },
  numerals: "auto" | "all",
): string | null {
  // "В мае 1998"; a year without its century keeps its ending.
  if (isOfMonth && value >= FIRST_YEAR && suffix === "го") return String(value);
  if (MONTH.test(next) && value <= 31) return String(value);
  const isBare = suffix === "го" || suffix === "м" || suffix === "й" || suffix === "му";
  if (YEAR.test(next) && value >= FIRST_YEAR) return isBare ? String(value) : `${value}-${suffix}`;
  if (DECADE.test(next) && value >= LEAST_FIGURE) return `${value}-${suffix}`;
  if (CENTURY.test(next) && value <= LONGEST_ROMAN) return roman(value);
  if (numerals === "auto" && value < LEAST_FIGURE) return null;
  return `${value}-${suffix}`;
}

/** "5 млн": spoken as a round number of at least a million. */
function sum(value: number): string {
  for (const [scale, name] of SCALE_NAMES) {
    if (value >= scale && value % scale === 0) return `${grouped(value / scale)} ${name}`;
  }
  return grouped(value);
}

/** Writes a range, a score, or the first number if all numbers are requested. */
function severalNumbers(
  words: readonly string[],
  { words: run, first }: Run,
  numbers: readonly SpelledNumber[],
  numerals: "auto" | "all",
): Found {
  const end = first + run.length;
  const isScore = words.slice(Math.max(0, first - 2), first).some((word) => SCORE_BEFORE.test(word));
  const [one, other] = numbers;
  if (isScore && numbers.length === 2 && !run.at(-1)!.isOrdinal) {
    return { end, text: `${one!.value}:${other!.value}` };
  }
  const isRest = russianNumberWord(words[first - 1] ?? "") !== null;
  const found =
    isRest || isCode(words, first) ? null : range(words, { words: run, first }, numbers, numerals);
  if (found !== null) return found;
  // "7 750 498" would be one number.
  const isLikeGroups = numbers.some(({ value }, index) => index > 0 && value >= 100 && value < 1_000);
  const isCut = run.length === LONGEST_RUN;
  // After a run that was cut, the last number may continue.
  if (numerals === "auto" || isLikeGroups)
    return { end: isCut ? first + numbers.at(-1)!.first : endOfList(words, end), text: null };
  return { end: first + one!.end, text: grouped(one!.value) };
}

/** "Девять двенадцать и восемьдесят четыре" is a list and stays in words. */
function endOfList(words: readonly string[], end: number): number {
  const rest = words[end] === "и" ? runAt(words, end + 1) : null;
  return rest === null || rest.words.at(-1)!.isOrdinal ? end : end + 1 + rest.words.length;
}

/** "Две третьих" is 2/3, "одна вторая" 1/2. */
function commonFraction({ words: run, first }: Run, numerals: "auto" | "all"): Found | null {
  const [parts, whole] = run;
  if (numerals === "auto" || run.length !== 2 || whole?.isOrdinal !== true) return null;
  if (parts!.value === 1 ? !/^[яю]$/.test(whole.suffix) : whole.suffix !== "х") return null;
  if (parts!.value < 1 || parts!.value >= whole.value || whole.value > 12) return null;
  return { end: first + 2, text: `${parts!.value}/${whole.value}` };
}

/** "Тридцатипятилетний" is 35-летний. */
function compoundWord(word: string, at: number, numerals: "auto" | "all"): Found | null {
  const compound = compoundOf(word);
  if (compound === null) return null;
  const isWord = compound.value < LEAST_FIGURE || WORDS_OF_THEIR_OWN.has(compound.value);
  if (numerals === "auto" && isWord) return null;
  return { end: at + 1, text: `${compound.value}-${compound.rest}` };
}

/** "Двадцать тридцать человек" is 20–30; "две три тысячи" is 2–3 followed by the word for thousands. */
function range(
  words: readonly string[],
  { words: run, first }: Run,
  numbers: readonly SpelledNumber[],
  numerals: "auto" | "all",
): Found | null {
  const [from, to] = numbers;
  if (numbers.length !== 2 || from === undefined || to === undefined || run.at(-1)!.isOrdinal) return null;
  const scale = scaleSaidOnce(from.value, to.value);
  const last = to.value / (scale ?? 1);
  const end = first + run.length;
  const next = words[end] ?? "";
  // A list continues after "и".
  const isSure = numerals === "all" || scale !== null || MEASURE.test(next);
  if (!isRange(from.value, last, isSure) || next === "и") return null;
  if (!isSure && last < LEAST_FIGURE) return null;
  return { end: scale === null ? end : end - 1, text: `${grouped(from.value)}–${grouped(last)}` };
}

/** "Двенадцать целых пять десятых миллиона" is 12,5 млн. */
function decimal(words: readonly string[], { words: run, first }: Run): Found | null {
  const at = first + run.length;
  if (!WHOLE.test(words[at] ?? "")) return null;
  const fraction = runBefore(words, at + (words[at + 1] === "и" ? 2 : 1));
  if (fraction === null) return null;
  const { denominator, value, end } = fraction;
  const whole = onlyNumber(run);
  if (whole === null || String(value).length > denominator) return { end, text: null };
  const number = `${grouped(whole)},${String(value).padStart(denominator, "0")}`;
  const scale = russianNumberWord(words[end] ?? "");
  if (scale?.role === "scale" && !scale.isOrdinal && scale.value >= 1e6) {
    return { end: end + 1, text: `${number} ${SCALE_NAMES.get(scale.value)}` };
  }
  if (PERCENT.test(words[end] ?? "")) {
    return { end: end + 1, text: `${number} %`, otherwise: { end, text: number } };
  }
  return { end, text: number };
}

/** A number and its denominator: "пять десятых", "двадцать пять сотых". */
function runBefore(
  words: readonly string[],
  first: number,
): { denominator: number; value: number; end: number } | null {
  for (let at = first + 1; at <= first + 3 && at < words.length; at++) {
    const denominator = DENOMINATORS.find(([pattern]) => pattern.test(words[at]!))?.[1];
    if (denominator === undefined) continue;
    const run = words.slice(first, at).map(russianNumberWord);
    if (run.some((word) => word === null || word.isOrdinal)) return null;
    const value = onlyNumber(run as RussianNumberWord[]);
    return value === null ? null : { denominator, value, end: at + 1 };
  }
  return null;
}

/** "В четырнадцать тридцать" is 14:30, "в девять ноль ноль" 9:00. */
function clock(words: readonly string[], { words: run, first }: Run): Found | null {
  if (!CLOCK_BEFORE.test(words[first - 1] ?? "")) return null;
  const end = first + run.length;
  if (run.some(({ isOrdinal, value }) => isOrdinal || value >= 100)) return null;
  const next = words[end] ?? "";
  if (MEASURE.test(next) || NOT_A_TIME.test(next)) return null;
  const zero = run.findIndex(({ value }, index) => index > 0 && value === 0);
  const hourWords = zero > 0 ? run.slice(0, zero) : (splitRun(run)?.[0] ?? []);
  const hour = onlyNumber(hourWords);
  const minutes = run.slice(hourWords.length);
  const minute = zero > 0 ? zeroMinutes(minutes) : onlyNumber(minutes);
  if (hour === null || minute === null || hour > 23 || minute > 59 || (zero < 0 && minute < 10)) return null;
  return { end, text: `${hour}:${String(minute).padStart(2, "0")}` };
}

function splitRun(run: readonly RussianNumberWord[]): readonly (readonly RussianNumberWord[])[] | null {
  const numbers = splitNumbers(run);
  return numbers?.length === 2 ? numbers.map(({ first, end }) => run.slice(first, end)) : null;
}

/** Returns the minutes of "ноль ноль" and "ноль пять". */
function zeroMinutes(run: readonly RussianNumberWord[]): number | null {
  const [first, second] = run;
  return run.length === 2 && first?.value === 0 && second !== undefined && second.value < 10
    ? second.value
    : null;
}

/** Eleven digits spoken in groups can only be a telephone number. */
function phone({ words: run, first }: Run): Found | null {
  if (run.length < LEAST_PHONE_WORDS || run.some(({ isOrdinal }) => isOrdinal)) return null;
  const groups = PHONE.exec(saidDigits(run));
  if (groups === null) return null;
  const [, country, area, ...rest] = groups;
  return { end: first + run.length, text: `${country} ${area} ${rest.join("-")}` };
}
