import { cardinal, decimal, digitByDigit } from "./numerals.js";
import { matchAt } from "./reading.js";

/** Interpretations of the marks in a number. */
type MarkMeaning = "whole" | "decimal" | "group-or-decimal" | "date-or-decimal";

/** A written number; `whole` and `fraction` are only digits. */
export interface WrittenNumber {
  readonly whole: string;
  readonly fraction: string;
  /** The mark between them; empty without a fraction. */
  readonly mark: string;
  readonly meaning: MarkMeaning;
  readonly next: number;
}

/**
 * Digits in groups of three separated by spaces. Dots or commas separate groups only where nothing else can
 * be meant: two groups and more ("1.234.567"), a group of zeros ("5.000"), or a decimal mark of the other
 * kind after them ("1.234,56", "1,234.56").
 */
const NUMBER = new RegExp(
  "(?:([1-9]\\d{0,2}(?:(?: \\d{3})+|(?:\\.\\d{3})+(?=,\\d{1,2}(?!\\d))|(?:,\\d{3})+(?=\\.\\d{1,2}(?!\\d))" +
    "|(?:\\.\\d{3}){2,}|(?:,\\d{3}){2,}|[.,]000))(?!\\d)|(\\d+))(?:([.,])(\\d+)(?![.,]?\\d))?",
  "yu",
);

/** Returns the number at a position; null without one. */
export function numberAt(text: string, at: number): WrittenNumber | null {
  const match = matchAt(NUMBER, text, at);
  if (match === null) return null;
  const [written, grouped, plain = "", mark = "", fraction = ""] = match;
  const whole = grouped === undefined ? plain : grouped.replace(/[ .,]/g, "");
  const meaning = grouped === undefined ? meaningOf(whole, mark, fraction) : decimalOrWhole(fraction);
  return { whole, fraction, mark, meaning, next: at + written.length };
}

/**
 * Interprets one mark between digits. The Kazakh decimal mark is the comma. A dot may be a decimal mark, a
 * group mark ("1.234"), or part of a date or time ("12.05", "9.30"), and a wrong guess would change the
 * meaning.
 */
function meaningOf(whole: string, mark: string, fraction: string): MarkMeaning {
  if (fraction === "" || whole.startsWith("0")) return decimalOrWhole(fraction);
  if (fraction.length === 3 && whole.length <= 3) return mark === "." ? "group-or-decimal" : "decimal";
  const isDateOrTime = mark === "." && fraction.length === 2 && Number(whole) <= 31 && Number(fraction) < 60;
  return isDateOrTime ? "date-or-decimal" : "decimal";
}

function decimalOrWhole(fraction: string): MarkMeaning {
  return fraction === "" ? "whole" : "decimal";
}

/** Reads a number; an ambiguous one is read as it is written: "он екі нүкте нөл бес". */
export function spokenNumber({ whole, fraction, mark, meaning }: WrittenNumber): string {
  if (meaning === "whole") return cardinal(whole);
  return meaning === "decimal" ? decimal(whole, fraction) : asWritten(whole, mark, fraction);
}

/** Reads both sides of a mark separately, and the mark by name. */
export function asWritten(whole: string, mark: string, fraction: string): string {
  return `${cardinal(whole)} ${mark === "," ? "үтір" : "нүкте"} ${codeGroup(fraction)}`;
}

/** Reads a group of a code, telephone number or address: leading zeros one by one, the rest as a number. */
export function codeGroup(digits: string): string {
  const zeros = /^0*/.exec(digits)?.[0] ?? "";
  const rest = digits.slice(zeros.length);
  return [digitByDigit(zeros), rest === "" ? "" : cardinal(rest)].filter((part) => part !== "").join(" ");
}
