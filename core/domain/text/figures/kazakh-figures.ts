import { normalizeKazakh } from "../kazakh/normalize.js";
import { isCode } from "./code-cues.js";
import { isInDuration } from "./durations.js";
import { CENTURY, formsOf, MONTH, percentForms, SCALE_NAMES, scaleName, YEAR } from "./kazakh-forms.js";
import { isArticle, isDayOfMonth, isOtherMeaning, isProverb, placeOf } from "./kazakh-meanings.js";
import { phoneForms } from "./kazakh-phone.js";
import { endOfRange, isSpanOfYears, ordinalRange, startsRange } from "./kazakh-ranges.js";
import { isAmbiguousAlone, type KazakhNumberWord, kazakhNumberWord } from "./kazakh-words.js";
import { type Joints, withoutMixedPairs } from "./mixed-pairs.js";
import {
  grouped,
  isRange,
  isUnclearSum,
  LONGEST_RUN,
  onlyNumber,
  type SpelledNumber,
  scaleSaidOnce,
  splitNumbers,
} from "./number-words.js";
import { isSignedPair } from "./signs.js";
import type { Figures, Written } from "./written.js";

/** "Екі де тоғыз" would be 2,9, but nobody reads 2,9 that way. */
const AND_TENTHS = /^[дт][ае]$/;
const LOCATIVE = /^[дт][ае]$/;
/** Nouns whose numbers are always written in digits: money, units, per cent. */
const MEASURE =
  /^(?:теңге|тиын|доллар|еуро|евро|рубль|юань|фунт|сом|пайыз|процент|градус|(?:кило|санти|милли)?метр|(?:кило|милли)?грам|тонна|литр|гектар|шақырым|секунд|минут|сағат|(?:кило|мега|гига)?ватт|(?:мега|гига|кило)?байт|бит|балл|ұпай|пайыздық)/;
const HALF = /^(?:жарым|жарты)$/;
/** "Миллиондаған" means millions of something, not a number. */
const SCORES = /^н?[дт](?:аған|еген)/;
const DATIVE = /^[ғгқк][ае]$/;
/** "Жүзден астам" means more than a hundred. */
const COMPARED =
  /^(?:астам|аса|артық|ас\p{Ll}{1,4}|кем|тарта|жуық\p{Ll}*|жет\p{Ll}{2,5}|дейін|шейін|таман)$/u;
/** Words that look like numbers: "for", a unit, "as many as", and shears. */
const OTHER_WORDS = /^(?:үшін$|бірлік|бірдей|қырықтық)/;
const FROM_OR_TO = /^(?:[дтн][ае]н|[ғгқк][ае])$/;
const PERCENT = /^пайыз(.*)$/;
const DENOMINATORS: ReadonlyMap<string, number> = new Map([
  ["оннан", 1],
  ["жүзден", 2],
  ["мыңнан", 3],
]);
const LAST_HOUR = 23;
/** Maximum difference of two numbers that form a range: "он бес он алтыда" is an age, not 15:16. */
const CLOSE = 5;
const LEAST_FIGURE = 10;

interface Run {
  readonly words: readonly KazakhNumberWord[];
  readonly first: number;
}

interface Found {
  readonly first: number;
  readonly end: number;
  /** Written forms, best first. */
  readonly forms: readonly string[];
}

/**
 * Writes the numbers of a Kazakh transcript in digits.
 *
 * A form is used only if `normalizeKazakh` reads it back as exactly the spoken words, in their context.
 *
 * @param words lower case
 */
export const kazakhFigures: Figures = (words, numerals) => {
  const written: Written[] = [];
  for (let at = 0; at < words.length; ) {
    const found = numberAt(words, at, numerals);
    const text = found === null ? null : firstReadBack(words, found);
    if (found === null || text === null) {
      // Keeps a number in words unless all of it is understood.
      const end = found?.end ?? at + 1;
      for (; at < end; at++) written.push({ text: words[at]!, first: at, end: at + 1 });
      continue;
    }
    written.push({ text, first: found.first, end: found.end });
    at = found.end;
  }
  if (numerals === "all") return written;
  if (isProverb(words, written)) return words.map((text, at) => ({ text, first: at, end: at + 1 }));
  return withoutMixedPairs(words, written, JOINTS);
};

const JOINTS: Joints = {
  numberWord: (word) => {
    const found = kazakhNumberWord(word);
    return found === null || isAmbiguousAlone(found) ? null : found;
  },
  joint: /^(?:және|немесе|не|әлде|яки|мен|бен|пен)$/,
  until: /^(?:немесе|не|әлде)$/,
  from: /[дтн][ае]н$/,
  preposition: null,
};

function numberAt(words: readonly string[], at: number, numerals: "auto" | "all"): Found | null {
  const run = runAt(words, at);
  if (run === null) return hyphenedPair(words, at);
  const end = at + run.words.length;
  // "Үш жарым миллиард" is three and a half, "үштен бір" one third, and "жеті-сегіз миллион" is not one
  // million.
  const isFraction = isPartOf(words[at - 1], run) && endOfRange(words, at) === null;
  // "Он төрт-ақ" continues after the run.
  const goesOn = /^\p{L}+(?=-)/u.exec(words[end] ?? "")?.[0] ?? "";
  const isPart =
    isFraction ||
    HALF.test(words[at - 1] ?? "") ||
    isPair(words[at - 1]) ||
    kazakhNumberWord(goesOn)?.role === "digit";
  if (isPart || hasTenths(words, end) || hasTenths(words, at - 1)) return { first: at, end, forms: [] };
  const phone = phoneForms(run.words);
  if (phone !== null) return { first: at, end, forms: phone };
  return (
    decimal(words, run) ?? clock(words, run) ?? twoOrdinals(words, run) ?? plainNumber(words, run, numerals)
  );
}

/** "Жиырма төртінші жиырма жетінші маусым" is 24–27 маусым. */
function twoOrdinals(words: readonly string[], { words: run, first }: Run): Found | null {
  const middle = first + run.length;
  const other = runAt(words, middle)?.words ?? [];
  const end = middle + other.length;
  const isOrdinal = [run, other].every((part) => part.at(-1)?.isOrdinal && part.at(-1)?.ending === "");
  const [from, to] = [onlyNumber(run), onlyNumber(other)];
  if (!isOrdinal || from === null || to === null) return null;
  const next = words[end] ?? "";
  const range = ordinalRange(from, to, next, MONTH.test(next));
  // In "мың тоғыз жүз қырық бірінші қырық бесінші жылдар" both stay words.
  if (range === null) return isSpanOfYears(from, to, next) ? { first, end, forms: [] } : null;
  return { first, end, forms: [range] };
}

/** Whether the word at `at` joins tenths to a whole number. */
function hasTenths(words: readonly string[], at: number): boolean {
  const around = [words[at - 1], words[at + 1]].map((word) => kazakhNumberWord(word ?? ""));
  return AND_TENTHS.test(words[at] ?? "") && around.every((word) => word !== null && !word.isOrdinal);
}

function isPair(word = ""): boolean {
  const parts = word.split("-");
  return parts.length === 2 && parts.every((part) => kazakhNumberWord(part) !== null);
}

/** "Жеті-сегіз миллион" is 7–8 млн. */
function hyphenedPair(words: readonly string[], at: number): Found | null {
  const [from, to, ...others] = words[at]!.split("-").map(kazakhNumberWord);
  if (from == null || to == null || others.length > 0 || from.ending !== "" || to.ending !== "") return null;
  const scale = kazakhNumberWord(words[at + 1] ?? "");
  if (from.isOrdinal || to.isOrdinal || scale?.role !== "scale" || scale.isOrdinal) return null;
  const pair = `${from.value}–${to.value}`;
  const forms = from.value < to.value ? [`${pair} ${scaleName(scale)}`] : [];
  return { first: at, end: at + 2, forms };
}

/** Returns the number words in a row; only the last may have an ending. */
function runAt(words: readonly string[], first: number): Run | null {
  const found: KazakhNumberWord[] = [];
  for (let at = first; at < words.length; at++) {
    const word = kazakhNumberWord(words[at]!);
    if (word === null || SCORES.test(word.ending)) break;
    const isClear =
      isAfterHour(words, at) ||
      isCompared(word, words[at + 1]) ||
      isDayOfMonth(words[at - 1], word) ||
      startsRange(words, at + 1);
    if (found.length === 0 && isAmbiguousAlone(word) && !isClear) return null;
    if (OTHER_WORDS.test(words[at]!)) break;
    found.push(word);
    if (word.isOrdinal || word.ending !== "" || found.length === LONGEST_RUN) break;
  }
  return found.length === 0 ? null : { words: found, first };
}

/** "Сағат онда" means at ten, "бір сағат онда" an hour there. */
function isAfterHour(words: readonly string[], at: number): boolean {
  return words[at - 1] === "сағат" && kazakhNumberWord(words[at - 2] ?? "") === null;
}

function isCompared({ ending }: KazakhNumberWord, next = ""): boolean {
  return FROM_OR_TO.test(ending) && COMPARED.test(next);
}

/** "Үштен бір" is a third, "бестен онға дейін" a range. */
function isPartOf(before: string | undefined, { words: run }: Run): boolean {
  const word = kazakhNumberWord(before ?? "");
  if (word === null || word.isOrdinal || !/^[дтн][ае]н$/.test(word.ending) || word.value < 2) return false;
  return run.length === 1 && run[0]!.value < word.value && !DATIVE.test(run[0]!.ending);
}

function plainNumber(
  words: readonly string[],
  { words: run, first }: Run,
  numerals: "auto" | "all",
): Found | null {
  const numbers = splitNumbers(run);
  const end = first + run.length;
  if (numbers === null) return { first, end, forms: [] };
  const [number] = numbers;
  if (number === undefined) return null;
  const stop = first + number.end;
  const last = run[number.end - 1]!;
  const next = words[stop] ?? "";
  // Consecutive numbers mean an approximate count ("twenty thirty people"), or form a code.
  if (numbers.length > 1) {
    // In "үш бүтін іі он оннан бір" the whole number is elsewhere.
    if (DENOMINATORS.has(words[end - 1]!) && kazakhNumberWord(words[end] ?? "") !== null) {
      return { first, end, forms: [] };
    }
    const isCounted = numerals === "all" || MEASURE.test(words[end] ?? "");
    const isRest = kazakhNumberWord(words[first - 1] ?? "")?.ending === "";
    const forms = isRest || isCode(words, first) ? [] : timeOrRange(run, numbers, isCounted);
    // After a run that was cut, the last number may continue.
    if (forms.length > 0) return { first, end, forms };
    if (!areSeparate(run, numbers, numerals)) {
      return { first, end: run.length === LONGEST_RUN ? first + numbers.at(-1)!.first : end, forms };
    }
    return { first, end: stop, forms: formsOf(number.value, last, "") };
  }
  const isSure =
    (last.isOrdinal && (MONTH.test(next) || CENTURY.test(next))) ||
    (isCardinal(last) && MEASURE.test(next)) ||
    isDayOfMonth(words[first - 1], last) ||
    startsRange(words, stop) ||
    isJoinedToFigure(words, first, number.value) ||
    isSignedPair(words, first, stop, (at) => isLargeOrMeasured(words, at)) ||
    (isCardinal(last) &&
      isInDuration(words, first, stop, {
        numberWord: JOINTS.numberWord,
        numberAt: (at) => numberFrom(words, at),
      }));
  const place = placeOf(words, { words: run, first }, number);
  const isUnclear = numerals === "auto" && isUnclearSum(number.value);
  if (isUnclear || isArticle(place, numerals) || isOtherMeaning(place, isSure, numerals)) {
    return { first, end: stop, forms: [] };
  }
  // "Жүз", "бір жүз".
  const isAlone = number.end - number.first === 1 || (number.value === 100 && last.role === "hundred");
  const isScaleAlone = isAlone && (last.role === "scale" || last.role === "hundred");
  // "Бес жүз мыңыншы".
  const isWord =
    number.value < LEAST_FIGURE ||
    isScaleAlone ||
    (last.isOrdinal && last.role === "scale" && !YEAR.test(next));
  if (numerals === "auto" && !isSure && isWord) {
    return { first, end: stop, forms: [] };
  }
  const percent = last.isOrdinal || last.ending !== "" ? null : PERCENT.exec(next);
  if (percent !== null) return { first, end: stop + 1, forms: percentForms(number.value, percent[1]!) };
  return { first, end: stop, forms: formsOf(number.value, last, next) };
}

/** Whether the number that starts at `at` is written in digits. */
function isLargeOrMeasured(words: readonly string[], at: number): boolean {
  const number = numberFrom(words, at);
  return number !== null && (number.value >= LEAST_FIGURE || MEASURE.test(words[number.end] ?? ""));
}

function numberFrom(words: readonly string[], at: number): { value: number; end: number } | null {
  const run = runAt(words, at)?.words ?? [];
  const value = onlyNumber(run);
  return value === null ? null : { value, end: at + run.length };
}

function isCardinal({ isOrdinal, ending }: KazakhNumberWord): boolean {
  return !isOrdinal && ending === "";
}

/** In "он жеті аудан мен үш қала" both are written in digits. */
function isJoinedToFigure(words: readonly string[], first: number, value: number): boolean {
  if (value < 2 || value >= LEAST_FIGURE || !JOINTS.joint.test(words[first - 1] ?? "")) return false;
  const number = kazakhNumberWord(words[first - 3] ?? "");
  if (number === null || number.isOrdinal || number.ending !== "") return false;
  return number.role === "ten" || kazakhNumberWord(words[first - 4] ?? "") !== null;
}

/** Whether numbers in a row may each be written: "1946 1957" may, but "7 750 498" would be one number. */
function areSeparate(
  run: readonly KazakhNumberWord[],
  numbers: readonly SpelledNumber[],
  numerals: "auto" | "all",
): boolean {
  const [from, to] = numbers;
  // "Мың тоғыз он төртінші жылы" lacks its hundreds.
  if (numerals === "auto" && run.at(-1)!.isOrdinal && numbers.at(-1)!.value < 1_000) return false;
  if (
    numerals === "auto" &&
    numbers.length === 2 &&
    LOCATIVE.test(run.at(-1)!.ending) &&
    isClose(from!, to!)
  ) {
    return false;
  }
  // "Бір жеті" is a week.
  if (numbers.length === 2 && to!.value === 7 && run.at(-1)!.ending === "") return false;
  return numbers.every(({ value }, nth) => {
    const isLikeGroup = nth > 0 && value >= 100 && value < 1_000;
    // "Алты жүз елу елу бір мың" is 650 to 651 thousand.
    const isOfScale = nth > 0 && scaleSaidOnce(numbers[nth - 1]!.value, value) !== null;
    return !isLikeGroup && !isOfScale && (numerals === "all" || value >= LEAST_FIGURE);
  });
}

/** "Үш бүтін оннан бес миллион" is 3,5 млн. */
function decimal(words: readonly string[], { words: run, first }: Run): Found | null {
  const at = first + run.length;
  if (words[at] !== "бүтін") return null;
  const digits = DENOMINATORS.get(words[at + 1] ?? "");
  const behind = runAt(words, at + (digits === undefined ? 1 : 2));
  if (behind === null) return null;
  // "Тоқсан үш бүтін төрт миллиард" omits "оннан".
  if (digits === undefined) return { first, end: at + 1 + behind.words.length, forms: [] };
  const scaleAt = behind.words.findIndex(({ role }) => role === "scale");
  const fraction = scaleAt === -1 ? behind.words : behind.words.slice(0, scaleAt);
  const scale = scaleAt === -1 ? null : behind.words[scaleAt]!;
  const end = at + 2 + fraction.length + (scale === null ? 0 : 1);
  const [whole, part] = [onlyNumber(run), onlyNumber(fraction)];
  const { ending = "", isOrdinal = true } = scale ?? fraction.at(-1) ?? {};
  const isWhole = scaleAt === -1 || scaleAt === behind.words.length - 1;
  if (whole === null || part === null || !isWhole || isOrdinal || String(part).length > digits) {
    return { first, end: at + 2 + behind.words.length, forms: [] };
  }
  const number = `${grouped(whole)},${String(part).padStart(digits, "0")}`;
  const scaled = scale === null ? number : `${number} ${SCALE_NAMES.get(scale.value) ?? scale.stem}`;
  const percent = ending === "" && scale === null ? PERCENT.exec(words[end] ?? "") : null;
  if (percent === null) return { first, end, forms: [ending === "" ? scaled : `${scaled}-${ending}`] };
  return { first, end: end + 1, forms: [percent[1] === "" ? `${number} %` : `${number} %-${percent[1]}`] };
}

/** "Отыз тоғыз қырық градус" is 39–40, an approximate count; "он жеті отызда" is 17:30-да. */
function timeOrRange(
  run: readonly KazakhNumberWord[],
  numbers: readonly SpelledNumber[],
  isSure: boolean,
): string[] {
  const [from, to] = numbers;
  const { ending, isOrdinal } = run.at(-1)!;
  if (numbers.length !== 2 || from === undefined || to === undefined || isOrdinal) return [];
  if (LOCATIVE.test(ending) && isTime(from.value, to.value))
    return isClose(from, to) ? [] : [`${from.value}:${to.value}-${ending}`];
  // "Жиырма төрт жиырма бес мың": the scale is spoken once.
  const scale = scaleSaidOnce(from.value, to.value);
  const last = to.value / (scale ?? 1);
  if (!isRange(from.value, last, isSure) || (scale === null && !isSure && last < LEAST_FIGURE)) return [];
  const pair = `${grouped(from.value)}–${grouped(last)}`;
  if (scale === null) return [ending === "" ? pair : `${pair}-${ending}`];
  return [`${pair} ${scaleName(run.at(-1)!)}`];
}

/** "Сағат он төрт отызда" is сағат 14:30-да. */
function clock(words: readonly string[], { words: run, first }: Run): Found | null {
  if (!isAfterHour(words, first)) return null;
  const numbers = splitNumbers(run);
  if (numbers?.length !== 2) return null;
  const [hour, minute] = [numbers[0]!.value, numbers[1]!.value];
  const { ending, isOrdinal } = run.at(-1)!;
  if (isOrdinal || !isTime(hour, minute)) return null;
  const time = `${hour}:${minute}`;
  return { first, end: first + run.length, forms: [ending === "" ? time : `${time}-${ending}`] };
}

function isClose(from: SpelledNumber, to: SpelledNumber): boolean {
  return to.value >= from.value && to.value <= from.value + CLOSE;
}

function isTime(hour: number, minute: number): boolean {
  return hour <= LAST_HOUR && minute >= 10 && minute <= 59;
}

const WORDS_BEFORE = 2;
const WORDS_AFTER = 3;

/** Returns the first written form that, in context, reads back as the spoken words; null if none does. */
function firstReadBack(words: readonly string[], { first, end, forms }: Found): string | null {
  if (forms.length === 0) return null;
  const before = words.slice(Math.max(0, first - WORDS_BEFORE), first).join(" ");
  const after = words.slice(end, end + WORDS_AFTER).join(" ");
  const said = readBack(`${before} ${words.slice(first, end).join(" ")} ${after}`);
  for (const form of forms) {
    const joint = form.endsWith("-") ? "" : " ";
    if (readBack(`${before} ${form}${joint}${after}`) === said) return form;
  }
  return null;
}

/** Reduces words to their letters; "бір мың" becomes "мың". */
function readBack(text: string): string {
  const { spoken } = normalizeKazakh(text.trim(), { expand: true });
  return spoken
    .replace(/[^\p{L}]+/gu, " ")
    .trim()
    .replace(/(?<![\p{L}])бір (?=мың|миллион|миллиард|триллион|жүз)/gu, "");
}
