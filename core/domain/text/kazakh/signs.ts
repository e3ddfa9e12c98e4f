import { CURRENCIES } from "./currencies.js";
import { readNumberEnding } from "./number-endings.js";
import { patternRule, type Rule } from "./reading.js";
import { GLUED_HYPHEN } from "./tidy.js";
import { wordTable } from "./word-table.js";

/** Source: symbol rows of facts-kk.tsv. */
const NAMES = wordTable(`
+: плюс; −: минус; =: тең; ×: көбейту; ÷: бөлу; &: және; @: ат белгісі; °: градус; §: тармақ; %: пайыз;
‰: промилле; <: кіші; >: үлкен; ±: плюс минус; №: нөмір; ≈: шамамен; ~: шамамен; ≠: тең емес;
≤: кіші немесе тең; ≥: үлкен немесе тең; ∞: шексіздік; √: түбір; ²: квадрат; ³: куб
`);
/** Signs that are mostly mark-up: read only next to a digit. */
const NEXT_TO_DIGIT: Readonly<Record<string, string>> = { "#": "тор", "*": "жұлдызша" };

/** A row of at least this many equal signs is not read one by one. */
const SHORTEST_ROW = 3;

/** Reads "-5" as "минус бес"; a dash after a word or number is a pause. */
export const minusRule: Rule = patternRule(
  "(?<![\\p{L}\\p{M}\\d.,]|\\d )[-−](?=[$€₽₸£¥]? ?\\d)",
  () => "минус",
);

/** Reads "#Қазақстан". */
export const hashtagRule: Rule = patternRule("#(?=\\p{L})", () => "хэштег");

/** Joins names with a hyphen without a pause: "COVID-19", "Wi-Fi", "5-G". */
export const nameHyphenRule: Rule = patternRule(
  "(?<=\\p{L})-(?=\\d)|(?<=[A-Za-z])-(?=[A-Za-z])|(?<=\\d)-(?=[A-Za-z])",
  () => "",
);

/** Reads "2-3 күн" as "екі-үш күн"; longer numbers get a pause. */
export const smallRangeRule: Rule = patternRule(
  "(?<=(?<!\\d)\\d\\d?)-(?=\\d\\d?(?![\\d.,:]))",
  () => GLUED_HYPHEN,
);

/** Reads a dot inside an address: "dauys.kz". */
export const addressDotRule: Rule = patternRule("(?<=[A-Za-z\\d])\\.(?=[A-Za-z])", () => "нүкте");

/** Reads the slash of "және/немесе": one or the other. */
export const slashRule: Rule = patternRule("(?<=\\p{L})/(?=\\p{L})|(?<=\\d)/(?=\\d)", (match, text) => {
  const before = text[match.index - 1]!;
  return /[A-Za-z\d]/.test(before) || text.startsWith("немесе", match.index + 1) ? "" : "немесе";
});

/** Reads a sign by name, with an ending: "%-ға", "₸-ден". */
export const signRule: Rule = (text, at) => {
  const sign = text[at]!;
  const name = NAMES[sign] ?? CURRENCIES[sign]?.name ?? nextToDigit(sign, text, at);
  if (name === null) return null;
  const end = endOfRow(text, at);
  // "100%%%": the first of the row was read with its number.
  if (text[at - 1] === sign && text[at - 2] !== sign && end > at + 1) return { spoken: "", next: end };
  // A row is an ornament ("====="), or a repeated sign next to a digit ("++++100"), which is read once.
  const isSaid = end === at + 1 || /\d/.test(text[at - 1] ?? "") || /\d/.test(text[end] ?? "");
  return isSaid ? readNumberEnding({ spoken: name, digits: null }, text, end) : { spoken: "", next: end };
};

/**
 * Returns the end of a row of at least three equal signs, counting the one before `at`; else the end of the
 * sign.
 */
function endOfRow(text: string, at: number): number {
  let end = at + 1;
  while (text[end] === text[at]) end++;
  const begin = text[at - 1] === text[at] ? at - 1 : at;
  return end - begin >= SHORTEST_ROW ? end : at + 1;
}

function nextToDigit(sign: string, text: string, at: number): string | null {
  const name = NEXT_TO_DIGIT[sign];
  const isNear = /\d/.test(text[at - 1] ?? "") || /\d/.test(text[at + 1] ?? "");
  return name !== undefined && isNear ? name : null;
}

/** Drops the hyphen of "10-15" where digits are not read. */
export const droppedRangeRule: Rule = patternRule("(?<=\\d)-(?=\\d)", () => "");
