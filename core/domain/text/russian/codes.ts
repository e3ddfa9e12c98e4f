import { matchAt } from "../kazakh/reading.js";
import { casesBefore, chosen } from "./agreement.js";
import { fixed, type Rule } from "./found.js";
import { codeGroup, commonFraction } from "./numbers.js";
import { ordinal } from "./numerals.js";

/** Telephone numbers of Kazakhstan and Russia, and local ones in pairs. */
const PHONE =
  /(?:\+?[78][ \u00a0-]?\(?\d{3}\)?[ \u00a0-]?\d{3}[ \u00a0-]?\d{2}[ \u00a0-]?\d{2}|\(?\d{3}\)?[ -]\d{3}[ -]\d{2}[ -]\d{2}|\d{2,3}-\d{2}-\d{2})(?![\d-])/y;
/** Eleven digits without a sign between them are a telephone number after "+", or after such a word. */
const CONTACT_BEFORE = /(?:тел|телефон\p{L}{0,3}|номер\p{L}{0,3}|звоните|whatsapp)\.?:?[ \u00a0]*$/iu;
const WHOLE = /^([78])(\d{3})(\d{3})(\d{2})(\d{2})$/;
/** A number of a part, with points: "п. 3.1". */
const PART = /\d{1,20}\.\d{1,20}(?!\d)/y;
const PART_BEFORE =
  /(?:^|[^\p{L}])(?:п|пп|ст|рис|гл|табл|пункт\p{L}{0,3}|стать\p{L}{1,3}|раздел\p{L}{0,3}|верси\p{L}{1,3})\.?[ \u00a0]$/iu;
/** A number with more points than a decimal has: "192.168.0.1", "1.2.3", "15.03.26". */
const POINTED = /\d{1,20}(?:\.\d{1,20}){2,}(?!\d)/y;
const FRACTION = /(\d{1,3})\/(\d{1,3})(?![\d/])/y;

export const phoneRule: Rule = (text, at) => {
  const match = matchAt(PHONE, text, at);
  if (match === null) return null;
  const written = match[0];
  const isPlus = written.startsWith("+");
  const isJoined = /^\d+$/.test(written);
  if (isJoined && !CONTACT_BEFORE.test(text.slice(Math.max(0, at - 20), at))) return null;
  const groups = WHOLE.exec(written.replace(/\D/g, ""))?.slice(1) ?? written.match(/\d+/g) ?? [];
  const said = groups.map(codeGroup).join(", ");
  return fixed(isPlus ? `плюс ${said}` : said, at + written.length);
};

export const pointedRule: Rule = (text, at) => {
  const isPart = PART_BEFORE.test(text.slice(Math.max(0, at - 12), at));
  const match = matchAt(POINTED, text, at) ?? (isPart ? matchAt(PART, text, at) : null);
  if (match === null) return null;
  return fixed(match[0].split(".").map(codeGroup).join(" точка "), at + match[0].length);
};

/** Reads "3/4" as "три четвёртых"; any other number with a slash is read with "дробь": "24 дробь 7". */
export const fractionRule: Rule = (text, at) => {
  const match = matchAt(FRACTION, text, at);
  if (match === null) return null;
  const [parts, whole] = [Number(match[1]), Number(match[2])];
  const next = at + match[0].length;
  if (parts === 0 || parts >= whole || whole > 12) {
    return fixed(`${codeGroup(match[1]!)} дробь ${codeGroup(match[2]!)}`, next);
  }
  const grammar = chosen(casesBefore(text, at), []);
  return { next, grammar, say: (asked) => commonFraction(parts, stemOf(whole), asked) };
};

function stemOf(value: number): string {
  if (value === 3) return "трет'";
  const form = ordinal(value, { case: "nominative", gender: "neuter", isAnimate: false });
  return form.slice(0, -2);
}

const CODE = /0\d+(?![.,]\d)/y;

/** Reads codes such as "007" digit by digit. */
export const codeRule: Rule = (text, at) => {
  const match = matchAt(CODE, text, at);
  return match === null ? null : fixed(codeGroup(match[0]), at + match[0].length);
};

const SIGNS: Readonly<Record<string, string>> = {
  "+": "плюс",
  "-": "минус",
  "−": "минус",
  "±": "плюс минус",
  "№": "номер",
  "#": "номер",
  "≈": "примерно",
  "~": "примерно",
  "×": "на",
  "=": "равно",
  "<": "меньше",
  ">": "больше",
};
const SIGN = /(?:№№?|[+±≈~×=<>#]|(?<![\p{L}\d)][ ]?)[-−])[ \u00a0]{0,2}(?=[$€₽₸£]?\d)/uy;

/** Reads a sign before a number. */
export const signRule: Rule = (text, at) => {
  const match = matchAt(SIGN, text, at);
  return match === null ? null : fixed(SIGNS[match[0].charAt(0)]!, at + match[0].length);
};

const NAME_HYPHEN = /-(?=\d)/y;

/** Drops the hyphen between letters and a number: "АК-47". */
export const nameHyphenRule: Rule = (text, at) =>
  matchAt(NAME_HYPHEN, text, at) !== null && /[\p{L}»"]/u.test(text.charAt(at - 1))
    ? fixed("", at + 1)
    : null;

const VULGAR: Readonly<Record<string, readonly [number, number]>> = {
  "½": [1, 2],
  "¼": [1, 4],
  "¾": [3, 4],
  "⅓": [1, 3],
  "⅔": [2, 3],
};

export const vulgarRule: Rule = (text, at) => {
  const fraction = VULGAR[text.charAt(at)];
  if (fraction === undefined) return null;
  const [parts, whole] = fraction;
  const grammar = chosen(casesBefore(text, at), []);
  const and = /\d/.test(text.charAt(at - 1)) ? "и " : "";
  return { next: at + 1, grammar, say: (asked) => and + commonFraction(parts, stemOf(whole), asked) };
};
