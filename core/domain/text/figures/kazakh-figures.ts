import { normalizeKazakh } from "../kazakh/normalize.js";
import { isAmbiguousAlone, type KazakhNumberWord, kazakhNumberWord } from "./kazakh-words.js";
import { grouped, onlyNumber, type SpelledNumber, saidDigits, splitNumbers } from "./number-words.js";
import type { Figures, Written } from "./written.js";

const MONTH =
  /^(?:қаңтар|ақпан|наурыз|сәуір|мамыр|маусым|шілде|тамыз|қыркүйе[кг]|қазан|қараша|желтоқсан)(?:с?[ыі])?(?:[ндт][ыі]ң|н?[дт][ае]|[ндт][ае]н|н[ае]?|[ғгқк][ае]|[ндт][ыі]|[мбп]ен|(?:н?[дт][ае])?[ғг][ыі])?$/;
const YEAR = /^жыл(?:ы|ғы|дың|ға|да|дан|дар\p{Ll}*|ының|ында|ынан|ына|ын|ымен|ындағы)?$/u;
const DECADE = /^жылдар\p{Ll}*$/u;
const CENTURY = /^ғасыр\p{Ll}*$/u;
/** Nouns that always take figures: money, units, per cent. */
const MEASURE =
  /^(?:теңге|тиын|доллар|еуро|евро|рубль|юань|фунт|сом|пайыз|процент|градус|(?:кило|санти|милли)?метр|(?:кило|милли)?грам|тонна|литр|гектар|шақырым|секунд|минут|сағат|(?:кило|мега|гига)?ватт|(?:мега|гига|кило)?байт|бит|балл|ұпай|пайыздық)/;
/** "Жүзден астам" is more than a hundred. */
const COMPARED =
  /^(?:астам|аса|артық|ас\p{Ll}{1,4}|кем|тарта|жуық\p{Ll}*|жет\p{Ll}{2,5}|дейін|шейін|таман)$/u;
const FROM_OR_TO = /^(?:[дтн][ае]н|[ғгқк][ае])$/;
const PERCENT = /^пайыз(.*)$/;
const DENOMINATORS: ReadonlyMap<string, number> = new Map([
  ["оннан", 1],
  ["жүзден", 2],
  ["мыңнан", 3],
]);
const SCALE_NAMES: ReadonlyMap<number, string> = new Map([
  [1e12, "трлн"],
  [1e9, "млрд"],
  [1e6, "млн"],
]);
const PHONE_BEFORE = /^(?:телефон|нөмір|ұялы|байланыс)\p{Ll}*$/u;
/** Digits of a telephone number, grouped as written. */
const PHONE = /^([78])(7\d\d)(\d{3})(\d{2})(\d{2})$/;
const FRONT_LAST = new Set([0, 1, 2, 3, 4, 5, 7, 8]);
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
 * Writes the numbers of a Kazakh transcript as figures.
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
      // Keep a number in words unless all of it is understood.
      const end = found?.end ?? at + 1;
      for (; at < end; at++) written.push({ text: words[at]!, first: at, end: at + 1 });
      continue;
    }
    written.push({ text, first: found.first, end: found.end });
    at = found.end;
  }
  return written;
};

function numberAt(words: readonly string[], at: number, numerals: "auto" | "all"): Found | null {
  const run = runAt(words, at);
  if (run === null) return null;
  // "Үш жарым миллиард" is three and a half, "үштен бір" one third.
  if (words[at - 1] === "жарым" || isPartOf(words[at - 1]))
    return { first: at, end: at + run.words.length, forms: [] };
  return phone(words, run) ?? decimal(words, run) ?? clock(words, run) ?? plainNumber(words, run, numerals);
}

/** Number words in a row; only the last may have an ending. */
function runAt(words: readonly string[], first: number): Run | null {
  const found: KazakhNumberWord[] = [];
  for (let at = first; at < words.length; at++) {
    const word = kazakhNumberWord(words[at]!);
    if (word === null) break;
    const isClear = words[at - 1] === "сағат" || isCompared(word, words[at + 1]);
    if (found.length === 0 && isAmbiguousAlone(word) && !isClear) return null;
    // "Үшін" after a number still means "for".
    if (words[at] === "үшін") break;
    found.push(word);
    if (word.isOrdinal || word.ending !== "") break;
  }
  return found.length === 0 ? null : { words: found, first };
}

function isCompared({ ending }: KazakhNumberWord, next = ""): boolean {
  return FROM_OR_TO.test(ending) && COMPARED.test(next);
}

function isPartOf(before = ""): boolean {
  const word = kazakhNumberWord(before);
  return word !== null && !word.isOrdinal && /^[дтн][ае]н$/.test(word.ending) && word.value <= 10;
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
  // Consecutive numbers mean an approximate count ("twenty thirty people") or a code.
  if (numbers.length > 1) return { first, end, forms: range(run, numbers, numerals) };
  const isSure =
    (last.isOrdinal && (MONTH.test(next) || YEAR.test(next) || CENTURY.test(next))) ||
    (!last.isOrdinal && last.ending === "" && MEASURE.test(next));
  const isScaleAlone = number.end - number.first === 1 && (last.role === "scale" || last.role === "hundred");
  if (numerals === "auto" && !isSure && (number.value < LEAST_FIGURE || isScaleAlone)) {
    return { first, end: stop, forms: [] };
  }
  const percent = last.isOrdinal || last.ending !== "" ? null : PERCENT.exec(next);
  if (percent !== null) return { first, end: stop + 1, forms: percentForms(number.value, percent[1]!) };
  return { first, end: stop, forms: formsOf(number.value, last, next) };
}

function percentForms(value: number, ending: string): string[] {
  const number = grouped(value);
  return ending === "" ? [`${number} %`] : [`${number} %-${ending}`, `${number}%-${ending}`];
}

function formsOf(value: number, { isOrdinal, ending }: KazakhNumberWord, next: string): string[] {
  if (!isOrdinal) {
    const forms = [...roundSums(value), grouped(value), String(value)];
    return ending === "" ? forms : forms.map((form) => `${form}-${ending}`);
  }
  const bare = String(value);
  if (ending === "" && DECADE.test(next) && value < 100) return [`${bare}-`, bare];
  if (ending === "" && MONTH.test(next)) return [bare];
  if (ending === "" && YEAR.test(next)) return [bare, `${bare}-`];
  if (ending === "" && CENTURY.test(next)) return [`${bare}-`, bare];
  const suffix = FRONT_LAST.has(value % 10) && !isBackTen(value) ? "ші" : "шы";
  return [`${bare}-${suffix}${ending}`];
}

/** Of tens ten, twenty, thirty, forty, sixty and ninety have back vowels, fifty, seventy, eighty and a hundred front ones. */
function isBackTen(value: number): boolean {
  return value % 10 === 0 && [10, 20, 30, 40, 60, 90].includes(value % 100);
}

/** "5 млн": spoken as a round number of at least a million. */
function roundSums(value: number): string[] {
  for (const [scale, name] of SCALE_NAMES) {
    if (value >= scale && value % scale === 0) return [`${grouped(value / scale)} ${name}`];
  }
  return [];
}

/** "Үш бүтін оннан бес миллион" is 3,5 млн. */
function decimal(words: readonly string[], { words: run, first }: Run): Found | null {
  const at = first + run.length;
  if (words[at] !== "бүтін") return null;
  const digits = DENOMINATORS.get(words[at + 1] ?? "");
  const behind = digits === undefined ? null : runAt(words, at + 2);
  if (digits === undefined || behind === null) return null;
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

/** "Отыз тоғыз қырық градус" is 39–40, an approximation. */
function range(
  run: readonly KazakhNumberWord[],
  numbers: readonly SpelledNumber[],
  numerals: "auto" | "all",
): string[] {
  const [from, to] = numbers;
  const { ending, isOrdinal } = run.at(-1)!;
  if (numbers.length !== 2 || from === undefined || to === undefined || isOrdinal) return [];
  // "Жиырма төрт жиырма бес мың": the scale is spoken once.
  const shared = [...SCALE_NAMES.keys(), 1_000].find((scale) => to.value % scale === 0 && from.value < 1_000);
  const last = shared === undefined ? to.value : to.value / shared;
  if (from.value >= last || last > 3 * from.value || (numerals === "auto" && last < LEAST_FIGURE)) return [];
  const name = shared === undefined ? "" : ` ${SCALE_NAMES.get(shared) ?? "мың"}`;
  const tail = ending === "" ? name : `${name}-${ending}`;
  return [`${grouped(from.value)}–${grouped(last)}${tail}`];
}

/** "Сағат он төрт отызда" is сағат 14:30-да. */
function clock(words: readonly string[], { words: run, first }: Run): Found | null {
  if (words[first - 1] !== "сағат") return null;
  const numbers = splitNumbers(run);
  if (numbers?.length !== 2) return null;
  const [hour, minute] = [numbers[0]!.value, numbers[1]!.value];
  const { ending, isOrdinal } = run.at(-1)!;
  if (
    isOrdinal ||
    hour > 23 ||
    minute < 10 ||
    minute > 59 ||
    /^минут/.test(words[first + run.length] ?? "")
  ) {
    return null;
  }
  const time = `${hour}:${minute}`;
  return { first, end: first + run.length, forms: [ending === "" ? time : `${time}-${ending}`] };
}

/** Ten or eleven digits spoken in groups after a word such as "number". */
function phone(words: readonly string[], { words: run, first }: Run): Found | null {
  const isPlus = words[first - 1] === "плюс";
  const before = words.slice(Math.max(0, first - 4), first);
  if (!isPlus && !before.some((word) => PHONE_BEFORE.test(word))) return null;
  if (run.some(({ ending, isOrdinal }) => ending !== "" || isOrdinal)) return null;
  const digits = saidDigits(run);
  const groups = PHONE.exec(digits);
  if (groups === null) return null;
  const [, country, area, ...rest] = groups;
  return {
    first,
    end: first + run.length,
    forms: [`${country} ${area} ${rest.join(" ")}`, `${country} ${area} ${rest.join("-")}`],
  };
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
