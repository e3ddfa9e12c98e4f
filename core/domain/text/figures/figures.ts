import { majorityLanguage, type SpokenLanguage, wordLanguage } from "../script.js";
import { kazakhFigures } from "./kazakh-figures.js";
import { russianFigures } from "./russian-figures.js";
import type { Figures, Written } from "./written.js";

/** `auto` keeps numbers below ten as words unless a month, a unit or money follows; `none` keeps all. */
export const NUMERALS = ["auto", "all", "none"] as const;
export type Numerals = (typeof NUMERALS)[number];

const BY_LANGUAGE: Readonly<Record<SpokenLanguage, Figures>> = {
  kazakh: kazakhFigures,
  russian: russianFigures,
};

/**
 * Writes the numbers of a transcript in digits, in Kazakh, Russian, or both.
 *
 * The majority language is tried first, and the other gets the rest, so a Russian date inside a Kazakh
 * sentence is also written in digits. Some words are a number in one language and something else in the other
 * ("он"). They count as numbers only where their language clearly dominates.
 * @param words lower case, as the recogniser returns them
 * @returns pieces in order; together they cover every word once
 */
export function writtenFigures(words: readonly string[], numerals: Numerals): readonly Written[] {
  if (numerals === "none") return words.map((text, at) => ({ text, first: at, end: at + 1 }));
  const first = majorityLanguage(words) ?? "kazakh";
  const found = BY_LANGUAGE[first](words, numerals);
  const pieces = first === "kazakh" ? withoutPronouns(found, words) : found;
  return pieces.length === 0 ? [] : withOther(words, pieces, first, numerals);
}

/**
 * Turns "он" back into a word where it may be Russian for "he": next to a Russian word, or where nothing is
 * clearly Kazakh.
 */
function withoutPronouns(pieces: readonly Written[], words: readonly string[]): readonly Written[] {
  let isKazakh: boolean | null = null;
  return pieces.map((piece) => {
    const { first, end } = piece;
    const said = words[first]!;
    if (end - first > 1 || said === piece.text || !PRONOUN.test(said)) return piece;
    const [before, next, second] = [words[first - 1], words[end], words[end + 1]].map((word) =>
      wordLanguage(word ?? ""),
    );
    const after = next ?? second;
    isKazakh ??= isClearlyKazakh(words);
    const isRussian = after === "russian" || (before === "russian" && after !== "kazakh");
    return isRussian || !isKazakh ? { ...piece, text: said } : piece;
  });
}

/** Whether a word has a letter that Russian lacks: endings alone are ambiguous ("Лизавета"). */
function isClearlyKazakh(words: readonly string[]): boolean {
  return words.some((word) => /[әғқңөұүһі]/.test(word));
}

/** Offers the runs that remained words to the other language. */
function withOther(
  words: readonly string[],
  pieces: readonly Written[],
  first: SpokenLanguage,
  numerals: "auto" | "all",
): Written[] {
  const other = BY_LANGUAGE[first === "kazakh" ? "russian" : "kazakh"];
  const written: Written[] = [];
  for (let at = 0; at < pieces.length; ) {
    let end = at;
    while (end < pieces.length && isPlain(pieces[end]!, words)) end++;
    if (end === at) {
      written.push(pieces[at++]!);
      continue;
    }
    const from = pieces[at]!.first;
    const said = words.slice(from, pieces[end - 1]!.end);
    for (const piece of other(said, numerals)) {
      const { first: start, end: stop } = piece;
      const isShared = stop - start === 1 && SHARED.test(said[start]!);
      const text = isShared ? said[start]! : piece.text;
      written.push({ text, first: start + from, end: stop + from });
    }
    at = end;
  }
  return written;
}

/** Words of both languages. */
const SHARED = /^(?:он|оны|онда|миллион|миллиард|триллион)$/;
const PRONOUN = /^(?:он|оны|онда)$/;

function isPlain({ text, first, end }: Written, words: readonly string[]): boolean {
  return end - first === 1 && text === words[first];
}
