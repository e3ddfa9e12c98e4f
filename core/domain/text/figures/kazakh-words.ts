import { isEnding } from "../kazakh/suffixes.js";
import type { NumberWord } from "./number-words.js";

/** A Kazakh number word with its endings. */
export interface KazakhNumberWord extends NumberWord {
  readonly stem: string;
  readonly isOrdinal: boolean;
  /** Case, possessive or plural, as spoken; empty without one. */
  readonly ending: string;
}

const STEMS: ReadonlyMap<string, NumberWord> = new Map([
  ...["нөл", "бір", "екі", "үш", "төрт", "бес", "алты", "жеті", "сегіз", "тоғыз"].map(
    (stem, value): [string, NumberWord] => [stem, { value, role: "digit" }],
  ),
  ...["он", "жиырма", "отыз", "қырық", "елу", "алпыс", "жетпіс", "сексен", "тоқсан"].map(
    (stem, nth): [string, NumberWord] => [stem, { value: 10 * (nth + 1), role: "ten" }],
  ),
  ["жүз", { value: 100, role: "hundred" }],
  ["мың", { value: 1e3, role: "scale" }],
  ["миллион", { value: 1e6, role: "scale" }],
  ["миллиард", { value: 1e9, role: "scale" }],
  ["триллион", { value: 1e12, role: "scale" }],
]);

/** Stems whose form changes before a possessive: "қырқы", "сегізі". */
const CHANGED_STEMS: ReadonlyMap<string, string> = new Map([["қырқ", "қырық"]]);
const ORDINAL = /^(?:с?[ыі]нш[ыі]|нш[ыі])(.*)$/;
const LONGEST_STEM = 8;
/** First letters of all stems, which most other words do not have. */
const BEGINNINGS: ReadonlySet<string> = new Set([...STEMS.keys()].map((stem) => stem.slice(0, 2)));

/** Parses a lower-case word as a number word; null if it is not one. */
export function kazakhNumberWord(word: string): KazakhNumberWord | null {
  if (!BEGINNINGS.has(word.slice(0, 2))) return null;
  for (let length = Math.min(word.length, LONGEST_STEM); length >= 2; length--) {
    const written = word.slice(0, length);
    const stem = CHANGED_STEMS.get(written) ?? written;
    const number = STEMS.get(stem);
    if (number === undefined) continue;
    const rest = word.slice(length);
    if (rest === "") return stem === written ? { ...number, stem, isOrdinal: false, ending: "" } : null;
    const behindOrdinal = ORDINAL.exec(rest)?.[1];
    if (behindOrdinal === "" || (behindOrdinal !== undefined && isEnding(behindOrdinal))) {
      return { ...number, stem, isOrdinal: true, ending: behindOrdinal };
    }
    if (isEnding(rest)) return { ...number, stem, isOrdinal: false, ending: rest };
  }
  return null;
}

/**
 * Words with another meaning when alone: a pronoun (оны, онда), "for" (үшін), a quarter (тоқсаны), a face
 * (жүзі), a week (жетіде). With an ending, they are numbers only at the end of a longer one.
 */
export function isAmbiguousAlone({ stem, ending, isOrdinal }: KazakhNumberWord): boolean {
  return !isOrdinal && ending !== "" && AMBIGUOUS.has(stem);
}
const AMBIGUOUS = new Set(["бір", "үш", "алты", "жеті", "он", "тоқсан", "жүз", "мың", "екі", "бес", "елу"]);
