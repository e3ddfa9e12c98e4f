import { type Numerals, writtenFigures } from "../figures/figures.js";
import type { Case, Mark, Punctuation } from "./marks.js";

/** A displayed word with its marks, and the spoken words [first, end) that it stands for. */
export interface DisplayedWord {
  readonly text: string;
  readonly first: number;
  readonly end: number;
}

export interface DisplayOptions {
  readonly numerals: Numerals;
  /** The text continues after its last word, so that word gets no mark yet. */
  readonly isOpen?: boolean;
  /** The text continues a sentence, so its first word gets a capital only if it is a name. */
  readonly isContinued?: boolean;
}

/**
 * Writes a transcript for readers, with digits, capitals and punctuation.
 *
 * @param words lower case, from the recogniser
 * @param punctuation of these words; null without a model: then only digits and the first capital are written
 * @returns displayed words in order; together they cover every spoken word once
 */
export function displayedWords(
  words: readonly string[],
  punctuation: Punctuation | null,
  { numerals, isOpen = false, isContinued = false }: DisplayOptions,
): DisplayedWord[] {
  const displayed: DisplayedWord[] = [];
  let isSentenceStart = !isContinued;
  for (const { text, first, end } of writtenFigures(words, numerals)) {
    const isPlain = end - first === 1 && text === words[first];
    const given = punctuation?.cases[first] ?? "lower";
    const spelled = isPlain ? (punctuation?.spellings?.[first] ?? null) : null;
    const cased = isSentenceStart
      ? withCase(spelled ?? text, given === "upper" && spelled === null ? "upper" : "capital")
      : isPlain
        ? (spelled ?? withCase(text, given))
        : text;
    const mark = isOpen && end === words.length ? "" : (punctuation?.marks[end - 1] ?? "");
    displayed.push({ text: withMark(cased, isPlain || mark !== "-" ? mark : ""), first, end });
    isSentenceStart = mark === "." || mark === "?";
  }
  return displayed;
}

/** Joins displayed words to one line; a word that ends in a hyphen is joined to the next. */
export function displayLine(texts: readonly string[]): string {
  let line = "";
  for (const text of texts) line += line === "" || line.endsWith("-") ? text : ` ${text}`;
  return line;
}

/** Writes a word in a case; "capital" changes its first letter only. */
export function withCase(text: string, as: Case): string {
  if (as === "upper") return text.toUpperCase();
  return as === "capital" ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

function withMark(text: string, mark: Mark): string {
  // A number that is joined to its noun ("90-") keeps its hyphen and takes no mark.
  if (mark === "" || text.endsWith("-")) return text;
  return mark === "—" ? `${text} —` : text + mark;
}
