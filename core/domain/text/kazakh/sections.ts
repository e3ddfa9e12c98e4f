import { LOWER } from "./letters.js";
import { COUNTED_NOUN } from "./number-endings.js";
import { codeGroup } from "./numbers.js";
import { cardinal, ordinal } from "./numerals.js";
import { matchAt, type Reading, type Rule } from "./reading.js";
import { isEnding } from "./suffixes.js";
import { wordTable } from "./word-table.js";
import { saidWord } from "./words.js";

/** Numbered parts of documents and school books, which need no hyphen: "3.1 тармақ". */
const SECTION =
  "(?:тармақ|тармағ|бөлім|бап|баб|кесте|сурет|тарау|параграф|пункт|тақырып|тақырыб|қосымша|теорема|лемма|формула|мысал|тапсырма|жаттығу|дәріс|сызба|диаграмма)";
/** Measures, which are not numbered even after a hyphen: "2.5-есе". */
const MEASURED =
  /^(?:есе(?![пб])|(?:жыл|ай|күн|апта|сағат|минут|балл|мың|млн|млрд|миллион|миллиард|теңге|тонна|метр|километр|килограмм|литр|пайыз|процент|градус|еселе))/u;
const NUMBER = "\\d{1,3}(?:\\.\\d{1,3}){1,4}(?![\\d])";
/** More numbers may come before the noun: "3.1, 3.2-тармақтар", "2.1–2.3-суреттер". */
const MORE = `(?:(?:, ?| және | мен | пен | бен | не | немесе | ?[-–—] ?)\\d{1,3}(?:\\.\\d{1,3}){0,4}){0,6}`;
const SECTION_NUMBER = new RegExp(
  `(${NUMBER})(?:(?:\\.?-([${LOWER}]+))|(?=(${MORE})(?:-([${LOWER}]+)| ${SECTION})))`,
  "yu",
);
/** Abbreviated nouns: "2.1-сур." */
const SHORT_NOUNS = wordTable(`
т: тармақ; тарм: тармақ; п: пункт; бөл: бөлім; тар: тарау; кес: кесте; сур: сурет; қос: қосымша
`);
/** A numbered heading at the start of a line: "3.1. Жалпы ережелер". */
const HEADING = /(\d{1,2}(?:\.\d{1,2}){1,4})(?=\.(?:\s*$|\n| \p{Lu})| \p{Lu}\p{Ll}{4})/uy;

/** Reads the number of a part of a text: "3.1-тармақ" is "үш нүкте бірінші тармақ". */
export const sectionRule: Rule = (text: string, at: number): Reading | null => {
  if (/[\d.,]/.test(text[at - 1] ?? "")) return null;
  const match = matchAt(SECTION_NUMBER, text, at);
  if (match === null) return afterNoun(text, at) ?? headingAt(text, at);
  const [written, number = "", noun, others = "", otherNoun] = match;
  const hyphenated = noun ?? otherNoun;
  const short = noun === undefined ? undefined : SHORT_NOUNS[noun];
  if (short !== undefined && text[at + written.length] === ".") {
    const end = at + written.length + 1;
    const stop = /^\s*$/.test(text.slice(end, end + 8)) ? "." : "";
    return { spoken: `${spokenSection(number, true)} ${short}${stop}`, next: end };
  }
  if (hyphenated !== undefined && !isNumbered(hyphenated)) return null;
  if (noun !== undefined)
    return { spoken: `${spokenSection(number, true)} ${saidWord(noun)}`, next: at + written.length };
  const next = at + written.length;
  return { spoken: spokenSection(number, others === ""), next };
};

/** A section's noun before its number: "кесте 2.3". */
const SECTION_BEFORE = new RegExp(`(?:(?:^|[^\\p{L}])${SECTION}\\p{Ll}{0,6}|§) ?$`, "iu");
const PLAIN_NUMBER = new RegExp(`(${NUMBER})(?!-\\p{L}|[.,]\\d)`, "yu");

function afterNoun(text: string, at: number): Reading | null {
  const match = matchAt(PLAIN_NUMBER, text, at);
  if (match === null || !SECTION_BEFORE.test(text.slice(Math.max(0, at - 24), at))) return null;
  return { spoken: spokenSection(match[1]!, false), next: at + match[0].length };
}

function headingAt(text: string, at: number): Reading | null {
  if (at > 0 && text[at - 1] !== "\n") return null;
  const match = matchAt(HEADING, text, at);
  // "10.00 Ашылу салтанаты" is a time.
  if (match !== null && /^\d\d\.(?:00|30)$/.test(match[1]!) && text[at + 5] === " ") return null;
  return match === null ? null : { spoken: spokenSection(match[1]!, false), next: at + match[0].length };
}

function isNumbered(noun: string): boolean {
  return (
    noun.length > 1 &&
    !isEnding(noun) &&
    !COUNTED_NOUN.test(noun) &&
    !MEASURED.test(noun) &&
    !ORDINAL.test(noun)
  );
}
const ORDINAL = /^(?:[ыі]н|сын|н)?ш[ыі]/u;

function spokenSection(number: string, isLast: boolean): string {
  const parts = number.split(".");
  const last = parts.pop()!;
  const spokenLast = isLast ? ordinal(codeGroup(last)) : codeGroup(last);
  return [...parts.map((part) => cardinal(part)), spokenLast].join(" нүкте ");
}
