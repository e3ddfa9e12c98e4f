import { CURRENCIES, type Currency } from "./currencies.js";
import { readNumberEnding } from "./number-endings.js";
import { asWritten, codeGroup, numberAt, spokenNumber, type WrittenNumber } from "./numbers.js";
import { cardinal, decimal, ordinal } from "./numerals.js";
import { matchAt, patternRule, type Reading, type Rule, WORD_END } from "./reading.js";
import { inCase, isEnding, withEnding } from "./suffixes.js";
import { GLUED_HYPHEN } from "./tidy.js";
import {
  CURRENCY_PATTERN,
  RATE_PATTERN,
  rateOf,
  SCALE_PATTERN,
  scaleName,
  UNIT_PATTERN,
  unitName,
} from "./units.js";
import { wordTable } from "./word-table.js";
import { saidWord } from "./words.js";

const ORDINAL_ENDING = /^(?:[ыі]н|сын|н)?ш[ыі]$/;
const VULGAR = / ?([½¼¾⅓⅔])/uy;
const SIMPLE_FRACTION = / ([1-9]\d?)\/([1-9]\d{0,2})(?![\d/.,])/uy;
const VULGAR_READINGS = wordTable(`
½: екіден бір; ¼: төрттен бір; ¾: төрттен үш; ⅓: үштен бір; ⅔: үштен екі
`);
const ABBREVIATION_DOT = /\.(?= [\p{Ll},]| \d+ ?(?:мин|сек)|[,;:)])/uy;
const SENTENCE_END = /\s{0,8}(?:$|\n|\p{Lu})/uy;

/** Reads a number with its scale, unit or currency, and the ending on the last of them. */
function quantityRule(text: string, at: number): Reading | null {
  const number = numberAt(text, at);
  return number === null ? null : readQuantity(number, null, text);
}

/** Reads "$5", "€ 3,5 млн" and "KZT 500": the currency is spoken after the number. */
export function moneyFirstRule(text: string, at: number): Reading | null {
  const sign = matchAt(CODE, text, at)?.[0] ?? text.charAt(at);
  const currency = Object.hasOwn(CURRENCIES, sign) ? CURRENCIES[sign] : undefined;
  if (currency === undefined) return null;
  const end = at + sign.length;
  const number = numberAt(text, text[end] === " " ? end + 1 : end);
  return number === null ? null : readQuantity(number, currency, text);
}
const CODE = /[A-Z]{3}(?= ?\d)/uy;

/** Reads "1/2" as "екіден бір": the denominator in the ablative, then the numerator. */
const fractionRule: Rule = (text, at) => {
  const match = matchAt(/(?<![\d/])([1-9]\d{0,2})\/(\d{1,3})(?![\d/.])/uy, text, at);
  if (match === null) return null;
  const [written, numerator = "", denominator = ""] = match;
  if (Number(numerator) >= Number(denominator)) return null;
  return readNumberEnding(
    { spoken: partOf(numerator, denominator), digits: null },
    text,
    at + written.length,
  );
};

function partOf(numerator: string, denominator: string): string {
  return `${inCase(cardinal(denominator), "ablative")} ${cardinal(numerator)}`;
}

/** Reads "№5 мектеп" as "бесінші мектеп"; long and lone numbers get "нөмірі". */
export const numberSignRule: Rule = patternRule(
  `№ ?(\\d+)(?!\\.\\d{1,3}-\\p{Ll})(?:-(\\p{Ll}+)${WORD_END})?(?= (\\p{L})|)`,
  (match) => {
    const [, digits = "", ending, following] = match;
    const spoken = cardinal(digits);
    if (ending !== undefined && ORDINAL_ENDING.test(ending)) return ordinal(spoken);
    if (ending !== undefined) {
      if (!isEnding(ending) && digits.length <= 3) return `${ordinal(spoken)} ${saidWord(ending)}`;
      return `нөмірі ${isEnding(ending) ? withEnding(spoken, ending) : `${spoken} ${saidWord(ending)}`}`;
    }
    return following !== undefined && digits.length <= 3 ? ordinal(spoken) : `нөмірі ${spoken}`;
  },
);

/** Reads versions and addresses: "2.0.1". */
const dottedRule = patternRule(`\\d{1,40}(?:\\.\\d{1,40}){2,}(?!\\d)`, (match) =>
  // "1.234.567" is one number.
  /^[1-9]\d{0,2}(?:\.\d{3}){2,}$/.test(match[0]) ? null : match[0].split(".").map(codeGroup).join(" нүкте "),
);

/**
 * Reads "3:1" as a result next to "есеп", otherwise as a ratio, "үштің бірге қатынасы" (genitive and dative
 * of case_rule rows).
 */
const ratioRule = patternRule(
  "(?<![\\d:.,])(\\d{1,3}):([1-9]\\d{0,2}(?: \\d{3})+|\\d{1,6})(?![\\d:]|[.,]\\d)(?=( есе[пб])|)",
  (match, text) => {
    const [, first = "", second = "", result] = match;
    const [spokenFirst, spokenSecond] = [cardinal(first), cardinal(second.replaceAll(" ", ""))];
    const isResult =
      result !== undefined || RESULT_BEFORE.test(text.slice(Math.max(0, match.index - 16), match.index));
    if (isResult) return spokenFirst + GLUED_HYPHEN + spokenSecond;
    return `${inCase(spokenFirst, "genitive")} ${inCase(spokenSecond, "dative")} қатынасы`;
  },
);
const RESULT_BEFORE = /есе[пб]\p{Ll}{0,12} {0,8}[—,:]? {0,8}$/u;

/** Reads "10^6", from "10⁶", as "он алтыншы дәрежеде". */
const powerRule: Rule = patternRule(`(\\d{1,40})\\^([-−]?)(\\d+)`, (match) => {
  const [, base = "", minus, exponent = ""] = match;
  return `${cardinal(base)} ${minus === "" ? "" : "минус "}${ordinal(cardinal(exponent))} дәрежеде`;
});

/** Rules for positions at a digit, in order, after those for the calendar and telephone numbers. */
export const NUMBER_RULES: readonly Rule[] = [powerRule, dottedRule, fractionRule, ratioRule, quantityRule];

function readQuantity(number: WrittenNumber, currencyBefore: Currency | null, text: string): Reading {
  const { fraction } = number;
  const scale = matchAt(SCALE_PATTERN, text, number.next);
  const end = number.next + (scale?.[0].length ?? 0);
  // The dot of "млн." or "тыс." belongs to it unless the sentence ends there.
  const afterScale = scale === null ? end : end + (matchAt(ABBREVIATION_DOT, text, end)?.[0].length ?? 0);
  const isPlain = scale === null && fraction === "";
  const vulgar = isPlain ? matchAt(VULGAR, text, number.next) : null;
  const part = isPlain ? matchAt(SIMPLE_FRACTION, text, number.next) : null;
  const next = number.next + ((vulgar ?? part)?.[0].length ?? afterScale - number.next);
  const value = (known: WrittenNumber) =>
    spokenValue(known, vulgar?.[1] ?? null, part) + (scale === null ? "" : ` ${scaleName(scale[1] ?? "")}`);
  const money = currencyBefore === null ? matchAt(CURRENCY_PATTERN, text, next) : null;
  const rate = currencyBefore === null ? matchAt(RATE_PATTERN, text, next) : null;
  // A scale or a unit makes "1.234" and "12.05" decimals: nobody counts thousands of millions with a group
  // mark, and kilograms have no date.
  const decided: WrittenNumber =
    scale === null ? number : { ...number, meaning: fraction === "" ? "whole" : "decimal" };
  if (rate !== null) {
    const { before, after } = rateOf(rate[1] ?? "", rate[2] ?? "");
    return measured(`${before} ${value(measuredNumber(decided))} ${after}`, text, next + rate[0].length);
  }
  const currency = currencyBefore ?? CURRENCIES[money?.[1] ?? ""] ?? null;
  if (currency !== null) {
    const amount =
      scale === null && vulgar === null && part === null
        ? sum(number, currency, currencyBefore !== null)
        : `${value(decided)} ${currency.name}`;
    return measured(amount, text, next + (money?.[0].length ?? 0));
  }
  const unit = matchAt(UNIT_PATTERN, text, next);
  if (unit !== null) {
    const end = next + unit[0].length;
    // The last dot of "а.к." also ends the sentence.
    const stop = unit[0].endsWith(".") && matchAt(SENTENCE_END, text, end) !== null ? "." : "";
    return measured(`${value(measuredNumber(decided))} ${unitName(unit[1] ?? "")}${stop}`, text, end);
  }
  const digits = isPlain && vulgar === null && part === null ? number.whole : null;
  return readNumberEnding({ spoken: value(decided), digits }, text, next);
}

/** A number with a unit is not a date; a group of three digits stays ambiguous. */
function measuredNumber(number: WrittenNumber): WrittenNumber {
  return number.meaning === "date-or-decimal" ? { ...number, meaning: "decimal" } : number;
}

function spokenValue(number: WrittenNumber, vulgar: string | null, part: RegExpExecArray | null): string {
  if (vulgar === "½") return `${cardinal(number.whole)} жарым`;
  if (vulgar !== null) return `${cardinal(number.whole)} бүтін ${VULGAR_READINGS[vulgar] ?? ""}`;
  if (part !== null && Number(part[1]) < Number(part[2])) {
    return `${cardinal(number.whole)} бүтін ${partOf(part[1] ?? "", part[2] ?? "")}`;
  }
  return spokenNumber(number);
}

/**
 * Reads a sum of money. Two digits after the mark are hundredths: "25,24 ₸" is "жиырма бес теңге жиырма төрт
 * тиын". Three digits are a group after a currency sign, as in English ("$1,234"), and ambiguous before one
 * ("1,234 ₸").
 */
function sum(number: WrittenNumber, currency: Currency, isSignFirst: boolean): string {
  const { whole, fraction, mark } = number;
  if (fraction.length === 2 && currency.minor !== null) return inMinor(whole, fraction, currency);
  if (fraction.length === 3 && whole.length <= 3 && whole !== "0") {
    const isGroup = isSignFirst && mark === ",";
    return `${isGroup ? cardinal(whole + fraction) : asWritten(whole, mark, fraction)} ${currency.name}`;
  }
  return `${fraction === "" ? cardinal(whole) : decimal(whole, fraction)} ${currency.name}`;
}

function inMinor(whole: string, fraction: string, currency: Currency): string {
  const parts: string[] = [];
  if (whole !== "0") parts.push(`${cardinal(whole)} ${currency.name}`);
  if (fraction !== "00") parts.push(`${cardinal(String(Number(fraction)))} ${currency.minor}`);
  return parts.length === 0 ? `нөл ${currency.name}` : parts.join(" ");
}

/** Adds the ending of a unit, and removes its dot inside a sentence. */
function measured(spoken: string, text: string, at: number): Reading {
  const dot = matchAt(ABBREVIATION_DOT, text, at);
  return readNumberEnding({ spoken, digits: null }, text, at + (dot?.[0].length ?? 0));
}

/** Reads a lone "½". */
export const vulgarRule: Rule = patternRule("[½¼¾⅓⅔]", (match) =>
  match[0] === "½" ? "жарты" : (VULGAR_READINGS[match[0]] ?? null),
);
