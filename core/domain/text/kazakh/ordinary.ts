import { CONSONANTS, KAZAKH_LETTERS } from "./letters.js";
import { mayBeContracted } from "./short-forms.js";
import { RUSSIAN_WORDS } from "./words.js";

const LOWER = 1;
const UPPER = 2;
const VOWEL = 4;
/** Kinds of Cyrillic letters by code unit; 0 for others. */
const KINDS = new Uint8Array(0x530);
for (const letter of KAZAKH_LETTERS) {
  const vowel = CONSONANTS.includes(letter) ? 0 : VOWEL;
  KINDS[letter.charCodeAt(0)] = LOWER | vowel;
  KINDS[letter.toUpperCase().charCodeAt(0)] = UPPER | vowel;
}
const DOT = ".".charCodeAt(0);
const SLASH = "/".charCodeAt(0);
const HYPHEN = "-".charCodeAt(0);
/** The longest head of a contraction: "ун" of "ун-ті". */
const LONGEST_HEAD = 6;
const O = "о".charCodeAt(0);
const YA = "я".charCodeAt(0);
const EXCEPTIONS = new Set([...RUSSIAN_WORDS.keys()].filter((word) => !/[оя]$/.test(word)));
const EXCEPTION_FIRST = new Set(
  [...EXCEPTIONS].flatMap((word) => [word.charCodeAt(0), word.toUpperCase().charCodeAt(0)]),
);

/**
 * Finds the end of a run of words that are spoken as written: Cyrillic words with a vowel, without inner
 * capitals or a dot after them, separated by a space, a comma and a space, or a hyphen. Nine of ten words are
 * in such a run, so this keeps normalization fast.
 * @returns `at` when no run starts there
 */
export function ordinaryRunEnd(text: string, at: number): number {
  let end = wordEnd(text, at);
  if (end === at) return at;
  for (;;) {
    const next = end + gapLength(text, end);
    if (next === end) return end;
    const nextEnd = wordEnd(text, next);
    if (nextEnd === next) return end;
    end = nextEnd;
  }
}

function gapLength(text: string, at: number): number {
  const mark = text[at];
  if (mark === " " || mark === "-") return 1;
  return mark === "," && text[at + 1] === " " ? 2 : 0;
}

function wordEnd(text: string, at: number): number {
  let end = at;
  let kinds = 0;
  if (((KINDS[text.charCodeAt(end)] ?? 0) & UPPER) !== 0) kinds |= KINDS[text.charCodeAt(end++)] ?? 0;
  const lowerFrom = end;
  for (let kind = kindAt(text, end); (kind & LOWER) !== 0; kind = kindAt(text, ++end)) kinds |= kind;
  if (end === lowerFrom || (kinds & VOWEL) === 0 || isJoined(text, end)) return at;
  if (text.charCodeAt(end) === HYPHEN && end - at <= LONGEST_HEAD && mayBeContracted(text, at, end))
    return at;
  const last = text.charCodeAt(end - 1);
  // Russian words with another pronunciation: endings -ого and -ся, and a few more.
  if (last === O || last === YA) return at;
  if (EXCEPTION_FIRST.has(text.charCodeAt(at)) && EXCEPTIONS.has(text.slice(at, end).toLowerCase()))
    return at;
  return end;
}

function kindAt(text: string, at: number): number {
  return KINDS[text.charCodeAt(at)] ?? 0;
}

/** Returns whether a dot, a slash or a letter of any script follows. */
function isJoined(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  // A vowel and a slash, as in "а/о", "ж/е".
  if (unit === DOT || unit === SLASH) return true;
  if (unit < 0x80) return (unit | 32) >= 97 && (unit | 32) <= 122;
  return unit >= 0xc0 && unit < 0x2000 && unit !== 0xd7 && unit !== 0xf7;
}
