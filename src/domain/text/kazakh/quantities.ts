import { readNumberEnding } from "./number-endings.js";
import { cardinal, decimal, digitByDigit, ordinal } from "./numerals.js";
import { matchAt, patternRule, type Reading, type Rule, WORD_END } from "./reading.js";
import { inCase, isEnding, withEnding } from "./suffixes.js";
import {
  CURRENCIES,
  CURRENCY_PATTERN,
  type Currency,
  RATE_PATTERN,
  rateOf,
  SCALE_PATTERN,
  scaleName,
  UNIT_PATTERN,
  unitName,
} from "./units.js";

/** Grouped by spaces, dots or commas, or plain; then a decimal fraction. */
const NUMBER =
  /(?:([1-9]\d{0,2}(?:(?: \d{3})+|(?:\.\d{3}){2,}|(?:,\d{3}){2,}|[.,]000))(?!\d)|(\d+))(?:[.,](\d+)(?![.,]?\d))?/uy;
const VULGAR = / ?([½¼¾⅓⅔])/uy;
const VULGAR_READINGS: Readonly<Record<string, string>> = {
  "½": "екіден бір",
  "¼": "төрттен бір",
  "¾": "төрттен үш",
  "⅓": "үштен бір",
  "⅔": "үштен екі",
};
const ABBREVIATION_DOT = /\.(?= [\p{Ll},]|[,;:)])/uy;

interface PlainNumber {
  readonly whole: string;
  readonly fraction: string;
  readonly next: number;
}

/** A number with all that belongs to it: scale, unit or money, and an ending on the last of them. */
export function quantityRule(text: string, at: number): Reading | null {
  const number = readNumber(text, at);
  return number === null ? null : readQuantity(number, null, text);
}

/** "$5", "€ 3,5 млн": said after the number. */
export function moneyFirstRule(text: string, at: number): Reading | null {
  const currency = CURRENCIES[text[at]!];
  if (currency === undefined) return null;
  const number = readNumber(text, text[at + 1] === " " ? at + 2 : at + 1);
  return number === null ? null : readQuantity(number, currency, text);
}

/** "1/2" is "екіден бір": the denominator in the ablative, then the numerator. */
const fractionRule = patternRule(`(\\d{1,3})/(\\d{1,3})(?![\\d/.])`, (match) => {
  const [numerator, denominator] = [match[1]!, match[2]!];
  if (Number(numerator) >= Number(denominator) || numerator.startsWith("0")) return null;
  return `${inCase(cardinal(denominator), "ablative")} ${cardinal(numerator)}`;
});

/** "№5 мектеп" is "бесінші мектеп"; long numbers and bare ones are "нөмірі". */
export const numberSignRule: Rule = patternRule(
  `№ ?(\\d+)(?:-(\\p{Ll}+)${WORD_END})?(?= (\\p{L})|)`,
  (match) => {
    const [, digits, ending, following] = match;
    const spoken = cardinal(digits!);
    if (ending !== undefined) {
      return `нөмірі ${isEnding(ending) ? withEnding(spoken, ending) : `${spoken} ${ending}`}`;
    }
    return following !== undefined && digits!.length <= 3 ? ordinal(spoken) : `нөмірі ${spoken}`;
  },
);

/** "+7 701 123 45 67", "8 (701) 123-45-67": read group by group, as written. Brackets have become commas. */
const phoneRule = patternRule(`\\+?[78][ ,-]*\\d{3}[ ,-]+\\d{3}[ -]?\\d{2}[ -]?\\d{2}(?!\\d)`, (match) => {
  const groups = match[0].match(/\d+/g)!.map(phoneGroup).join(" ");
  return match[0].startsWith("+") ? `плюс ${groups}` : groups;
});

/** Versions and addresses: "2.0.1". */
const dottedRule = patternRule(`\\d+(?:\\.\\d+){2,}(?!\\d)`, (match) =>
  match[0].split(".").map(cardinal).join(" нүкте "),
);

/** In the order they are tried, at a digit, after the calendar. */
export const NUMBER_RULES: readonly Rule[] = [phoneRule, dottedRule, fractionRule, quantityRule];
/** At a plus sign. */
export const PHONE_RULE: Rule = phoneRule;

function phoneGroup(digits: string): string {
  const zeros = /^0*/.exec(digits)![0];
  const rest = digits.slice(zeros.length);
  return [digitByDigit(zeros), rest === "" ? "" : cardinal(rest)].filter((part) => part !== "").join(" ");
}

function readNumber(text: string, at: number): PlainNumber | null {
  const match = matchAt(NUMBER, text, at);
  if (match === null) return null;
  const whole = (match[1] ?? match[2]!).replace(/[ .,]/g, "");
  return { whole, fraction: match[3] ?? "", next: at + match[0].length };
}

function readQuantity(number: PlainNumber, currencyBefore: Currency | null, text: string): Reading {
  const { whole, fraction } = number;
  const scale = matchAt(SCALE_PATTERN, text, number.next);
  const end = number.next + (scale?.[0].length ?? 0);
  // The dot of "млн." or "тыс." is part of it unless the sentence ends there.
  const afterScale = scale === null ? end : end + (matchAt(ABBREVIATION_DOT, text, end)?.[0].length ?? 0);
  const vulgar = scale === null && fraction === "" ? matchAt(VULGAR, text, number.next) : null;
  const value = spokenValue(number, vulgar?.[1] ?? null) + (scale === null ? "" : ` ${scaleName(scale[1]!)}`);
  const next = vulgar === null ? afterScale : number.next + vulgar[0].length;
  const money = currencyBefore === null ? matchAt(CURRENCY_PATTERN, text, next) : null;
  const currency = currencyBefore ?? (money === null ? null : CURRENCIES[money[1]!]!);
  if (currency !== null) {
    const isSplit = fraction.length === 2 && scale === null && currency.minor !== null;
    const spoken = isSplit ? inMinor(whole, fraction, currency) : `${value} ${currency.name}`;
    return measured(spoken, text, next + (money?.[0].length ?? 0));
  }
  const rate = matchAt(RATE_PATTERN, text, next);
  if (rate !== null) {
    const { before, after } = rateOf(rate[1]!);
    return measured(`${before} ${value} ${after}`, text, next + rate[0].length);
  }
  const unit = matchAt(UNIT_PATTERN, text, next);
  if (unit !== null) return measured(`${value} ${unitName(unit[1]!)}`, text, next + unit[0].length);
  const digits = fraction === "" && scale === null && vulgar === null ? whole : null;
  return readNumberEnding({ spoken: value, digits }, text, next);
}

function spokenValue({ whole, fraction }: PlainNumber, vulgar: string | null): string {
  if (vulgar === "½") return `${cardinal(whole)} жарым`;
  if (vulgar !== null) return `${cardinal(whole)} бүтін ${VULGAR_READINGS[vulgar]!}`;
  return fraction === "" ? cardinal(whole) : decimal(whole, fraction);
}

/** "25,24 ₸" is "жиырма бес теңге жиырма төрт тиын". */
function inMinor(whole: string, fraction: string, currency: Currency): string {
  const parts: string[] = [];
  if (whole !== "0") parts.push(`${cardinal(whole)} ${currency.name}`);
  if (fraction !== "00") parts.push(`${cardinal(String(Number(fraction)))} ${currency.minor}`);
  return parts.length === 0 ? `нөл ${currency.name}` : parts.join(" ");
}

/** A unit with its ending and, inside a sentence, without its dot. */
function measured(spoken: string, text: string, at: number): Reading {
  const dot = matchAt(ABBREVIATION_DOT, text, at);
  return readNumberEnding({ spoken, digits: null }, text, at + (dot?.[0].length ?? 0));
}

/** "½" by itself. */
export const vulgarRule: Rule = patternRule("[½¼¾⅓⅔]", (match) =>
  match[0] === "½" ? "жарты" : VULGAR_READINGS[match[0]]!,
);
