import {
  ABBREVIATION_HEADS,
  afterNumberRule,
  centuryMarkRule,
  closingRule,
  DOTTED_SOURCE,
  degreeRule,
  initialRule,
  openingRule,
  placeRule,
  scaleRule,
  shoutedClosingRule,
  undottedRule,
  volumeRule,
} from "./abbreviations.js";
import { acronymRule, dottedAcronymRule } from "./acronyms.js";
import { addressRule } from "./addresses.js";
import { CALENDAR_RULES, YEAR_MARK_RULE } from "./calendar.js";
import type { DictionaryReading, PronunciationDictionary } from "./dictionary.js";
import { accountRule, latinRule } from "./latin.js";
import { type LatinAlphabet, respellLatinKazakh } from "./latin-kazakh.js";
import { CONSONANTS, LOWER, UPPER } from "./letters.js";
import {
  classLetterRule,
  letteredNumberRule,
  letterListRule,
  letterRule,
  listedPartRule,
  paragraphRule,
} from "./lone-letters.js";
import type { MappedText } from "./mapped-text.js";
import { ordinaryRunEnd } from "./ordinary.js";
import { phoneRule } from "./phones.js";
import { prepare } from "./prepare.js";
import { moneyFirstRule, NUMBER_RULES, numberSignRule, vulgarRule } from "./quantities.js";
import { matchAt, type Reading, type Rule } from "./reading.js";
import { romanRule } from "./roman.js";
import { sectionRule } from "./sections.js";
import {
  CONTRACTED_HEADS,
  contractionRule,
  districtRule,
  namedNumberDistrictRule,
  numberedDistrictRule,
  slashedRule,
} from "./short-forms.js";
import {
  addressDotRule,
  droppedRangeRule,
  hashtagRule,
  minusRule,
  nameHyphenRule,
  signRule,
  slashRule,
  smallRangeRule,
} from "./signs.js";
import { type TidyWord, tidy } from "./tidy.js";
import { plainWordRule } from "./words.js";

export interface NormalizeOptions {
  /**
   * If false, numbers, abbreviations and signs are not read, and those that cannot be pronounced are dropped.
   */
  readonly expand: boolean;
  /** Applies regardless of `expand`. */
  readonly dictionary?: PronunciationDictionary | undefined;
  /** Alphabet of the text that contains this sentence, if it is Kazakh in Latin letters. */
  readonly latin?: LatinAlphabet | null | undefined;
}

/**
 * A spoken word and its part of the written text, in UTF-16 units. Several words can share one part: the
 * words of "2024" all have its range.
 */
export interface SpokenWord {
  /** [spokenStart, spokenEnd) of the spoken text: letters, with hyphens inside. */
  readonly spokenStart: number;
  readonly spokenEnd: number;
  /** [start, end) of the written text; neither decreases from word to word. */
  readonly start: number;
  readonly end: number;
}

export interface SpokenText {
  /** Lower-case Kazakh Cyrillic with `, . ! ? : ; — -`; empty if nothing can be spoken. */
  readonly spoken: string;
  /** Every word of `spoken`, in order. Each written letter and digit is in one of their ranges or dropped. */
  readonly words: readonly SpokenWord[];
  /** Positions of characters (code points) of the written text that cannot be spoken, ascending. */
  readonly dropped: readonly number[];
}

/** Rules by the character at the position; the first reading wins. */
const WORD_RULES: readonly Rule[] = [
  contractionRule,
  slashedRule,
  districtRule,
  romanRule,
  shoutedClosingRule,
  dottedAcronymRule,
  initialRule,
  letterRule,
  letterListRule,
  acronymRule,
  degreeRule,
  undottedRule,
  closingRule,
  openingRule,
  placeRule,
  YEAR_MARK_RULE,
  afterNumberRule,
  centuryMarkRule,
  scaleRule,
  plainWordRule,
];
/** Rules for words that are not short and do not start like an abbreviation. */
const WHOLE_WORD_RULES: readonly Rule[] = [romanRule, acronymRule, plainWordRule];
const LATIN_RULES: readonly Rule[] = [
  addressRule,
  accountRule,
  moneyFirstRule,
  romanRule,
  initialRule,
  openingRule,
  latinRule,
];
const DIGIT_RULES: readonly Rule[] = [
  addressRule,
  sectionRule,
  volumeRule,
  numberedDistrictRule,
  namedNumberDistrictRule,
  classLetterRule,
  letteredNumberRule,
  listedPartRule,
  paragraphRule,
  ...CALENDAR_RULES,
  phoneRule,
  ...NUMBER_RULES,
];
const SIGN_RULES: readonly Rule[] = [
  phoneRule,
  moneyFirstRule,
  numberSignRule,
  hashtagRule,
  minusRule,
  nameHyphenRule,
  smallRangeRule,
  addressDotRule,
  slashRule,
  vulgarRule,
  signRule,
];
/** Rules for common punctuation marks, few of which apply; other signs try `SIGN_RULES`. */
const MARK_RULES: ReadonlyMap<string, readonly Rule[]> = new Map([
  [".", [addressDotRule]],
  ["-", [minusRule, nameHyphenRule, smallRangeRule]],
  ...[..."!?:;—–\n"].map((mark): [string, readonly Rule[]] => [mark, []]),
]);
/** Rules without `expand`, which still respells Latin letters. */
const WORD_RULES_PLAIN: readonly Rule[] = [latinRule];
const SIGN_RULES_PLAIN: readonly Rule[] = [nameHyphenRule, addressDotRule, droppedRangeRule];

const LETTER = /[\p{L}\p{M}]/u;
const PLAIN_WORD = new RegExp(`[${LOWER}${UPPER}]+`, "uy");
const LINE_ENDS = /\n[ \n]*/uy;
const PAUSES = new Set([" ", ",", ".", "!", "?", ":", ";", "-", "—"]);
/** Words of the output that a second pass would read differently, because marks happen to be adjacent. */
const UNSETTLED_WORD = new RegExp(`(?<![${LOWER}])[${CONSONANTS}]+(?![${LOWER}])`, "u");
const UNSETTLED_END = new RegExp(`(?:^|[^${LOWER}])(?:${DOTTED_SOURCE})$`, "u");
const HEAD_BEFORE = new RegExp(`(?<![${LOWER}])[${LOWER}]+$`, "u");
/** At least as long as the longest abbreviation. */
const LONGEST_DOTTED = 20;
const MAX_PASSES = 4;

/**
 * Converts written Kazakh to its spoken form in the characters of a voice, with the written range of each
 * word.
 *
 * Numbers, dates, times, money, units, Roman numerals, abbreviations and signs become words with their
 * endings; Latin words are respelled by sound; quotation marks are silent, brackets and dashes are pauses;
 * everything else is dropped and listed. Without a dictionary, the output is a fixed point.
 */
export function normalizeKazakh(text: string, options: NormalizeOptions): SpokenText {
  const first = readOnce(text, options);
  let result = first;
  for (let pass = 1; options.expand && pass < MAX_PASSES && isUnsettled(result.spoken); pass++) {
    // The dictionary must not apply to its own readings.
    const again = readOnce(result.spoken, { expand: options.expand });
    if (again.spoken === result.spoken) break;
    result = { ...again, words: throughWords(result.words, again.words) };
  }
  return { ...result, dropped: first.dropped };
}

function isUnsettled(spoken: string): boolean {
  if (UNSETTLED_WORD.test(spoken)) return true;
  for (let dot = spoken.indexOf("."); dot >= 0; dot = spoken.indexOf(".", dot + 1)) {
    if (UNSETTLED_END.test(spoken.slice(Math.max(0, dot - LONGEST_DOTTED), dot + 1))) return true;
  }
  for (let hyphen = spoken.indexOf("-"); hyphen >= 0; hyphen = spoken.indexOf("-", hyphen + 1)) {
    const head = HEAD_BEFORE.exec(spoken.slice(Math.max(0, hyphen - LONGEST_DOTTED), hyphen))?.[0] ?? "";
    if (CONTRACTED_HEADS.has(head) && contractionRule(spoken, hyphen - head.length) !== null) return true;
  }
  return false;
}

function readOnce(raw: string, { expand, dictionary, latin }: NormalizeOptions): SpokenText {
  const isKept = (word: string) => dictionary?.spokenName(word) !== undefined;
  const { mapped, dropped: unsayable } = prepare(
    raw,
    (composed) => respellLatinKazakh(composed, latin ?? null, isKept),
    expand,
  );
  const { text } = mapped;
  const dropped = [...unsayable];
  const names = new NamesAhead(text, expand, dictionary);
  const spans: Span[] = [];
  let written = "";
  let at = 0;
  while (at < text.length) {
    const named = names.readAt(at);
    // No other rule may read past the start of a name.
    const before = text.slice(0, names.nextAt);
    const runEnd = named === null ? ordinaryRunEnd(before, at) : at;
    if (runEnd > at) {
      spans.push({ writtenStart: written.length, at, next: null });
      written += text.slice(at, runEnd);
      at = runEnd;
      continue;
    }
    let reading = named ?? read(text, at, expand);
    if (named === null && reading !== null && reading.next > before.length)
      reading = read(before, at, expand);
    if (reading !== null) {
      spans.push({ writtenStart: written.length, at, next: reading.next });
      written += ` ${reading.spoken} `;
      at = reading.next;
      continue;
    }
    const rest = (matchAt(PLAIN_WORD, text, at) ?? matchAt(LINE_ENDS, text, at))?.[0] ?? text.charAt(at);
    if (LETTER.test(rest)) spans.push({ writtenStart: written.length, at, next: null });
    if (rest.startsWith("\n")) written += lineEnd(rest, text.slice(at + rest.length, at + rest.length + 2));
    else if (rest === "·") written += ", ";
    else if (PAUSES.has(rest) || LETTER.test(rest)) written += rest;
    else {
      written += " ";
      dropped.push(mapped.startOf(at));
    }
    at += rest.length;
  }
  const { spoken, words } = tidy(written);
  return { spoken, words: sourceWords(words, spans, mapped), dropped: inOrder(dropped) };
}

/** The remaining dictionary words of a text. */
class NamesAhead {
  readonly #text: string;
  readonly #dictionary: PronunciationDictionary | undefined;
  readonly #hasAddresses: boolean;
  readonly #names: readonly DictionaryReading[];
  #next = 0;

  constructor(text: string, hasAddresses: boolean, dictionary: PronunciationDictionary | undefined) {
    this.#text = text;
    this.#dictionary = dictionary;
    this.#hasAddresses = hasAddresses;
    this.#names = dictionary?.find(text) ?? [];
  }

  /** Start of the next dictionary word, or the end of the text. */
  get nextAt(): number {
    return this.#names[this.#next]?.at ?? this.#text.length;
  }

  /** Returns the word at a position, or the address that contains one. */
  readAt(at: number): Reading | null {
    while (this.nextAt < at) this.#next++;
    const name = this.#names[this.#next];
    if (name === undefined) return null;
    const address = this.#hasAddresses
      ? addressRule(this.#text, at, (part) => this.#dictionary?.spokenName(part))
      : null;
    const reading = address === null || (name.at === at && name.next >= address.next) ? name : address;
    if (reading === name && name.at !== at) return null;
    while (this.nextAt < Math.min(reading.next, this.#text.length)) this.#next++;
    return reading;
  }
}

/** A reading of [at, next), or copied letters if `next` is null, with its position in the output. */
interface Span {
  readonly writtenStart: number;
  readonly at: number;
  readonly next: number | null;
}

function sourceWords(words: readonly TidyWord[], spans: readonly Span[], source: MappedText): SpokenWord[] {
  let index = 0;
  const spanAt = (writtenAt: number): Span => {
    while ((spans[index + 1]?.writtenStart ?? Number.POSITIVE_INFINITY) <= writtenAt) index++;
    return spans[index]!;
  };
  return words.map(({ spokenStart, spokenEnd, start, end }) => {
    const first = spanAt(start);
    const from = first.next === null ? first.at + start - first.writtenStart : first.at;
    const last = spanAt(end - 1);
    const to = (last.next ?? last.at + end - last.writtenStart) - 1;
    return { spokenStart, spokenEnd, start: source.startOf(from), end: source.endOf(to) };
  });
}

/** Maps words of a second pass to the written text through the words of the first. */
function throughWords(words: readonly SpokenWord[], again: readonly SpokenWord[]): SpokenWord[] {
  let index = 0;
  return again.map((word) => {
    while (words[index]!.spokenEnd <= word.start) index++;
    let last = index;
    while ((words[last + 1]?.spokenStart ?? Number.POSITIVE_INFINITY) < word.end) last++;
    return { ...word, start: words[index]!.start, end: words[last]!.end };
  });
}

/** Sorts positions without duplicates, since one character may be prepared as two. */
function inOrder(positions: readonly number[]): number[] {
  return [...new Set(positions)].toSorted((a, b) => a - b);
}

function read(text: string, at: number, expand: boolean): Reading | null {
  const character = text.charAt(at);
  if (character === " " || character === ",") return null;
  for (const rule of rulesAt(text, at, expand)) {
    const reading = rule(text, at);
    if (reading !== null) return reading;
  }
  return null;
}

function rulesAt(text: string, at: number, expand: boolean): readonly Rule[] {
  const character = text.charAt(at);
  if (LETTER.test(character)) {
    if (!expand) return WORD_RULES_PLAIN;
    // All letters of a prepared text below this are Latin.
    if (character < "Ѐ") return LATIN_RULES;
    return isWhole(text, at) ? WHOLE_WORD_RULES : WORD_RULES;
  }
  if (!expand) return SIGN_RULES_PLAIN;
  if (character >= "0" && character <= "9") return DIGIT_RULES;
  return MARK_RULES.get(character) ?? SIGN_RULES;
}

/**
 * Returns whether a word is not an abbreviation, by its length, the next mark and the known first letters.
 */
function isWhole(text: string, at: number): boolean {
  const word = matchAt(PLAIN_WORD, text, at)?.[0] ?? "";
  const mark = text[at + word.length];
  return word.length > 2 && mark !== "-" && mark !== "/" && !ABBREVIATION_HEADS.has(word.toLowerCase());
}

/** A line end ends a sentence, unless the next line continues in lower case and is not a list item ("ә."). */
function lineEnd(lineEnds: string, next: string): string {
  return !lineEnds.includes("\n\n") && /^\p{Ll}(?![.,])/u.test(next) ? " " : ". ";
}
