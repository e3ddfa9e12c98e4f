import type { VocabularyWords } from "../../client/browser.js";
import { inOneLine, readPronunciations, writePronunciations } from "./pronunciations.js";
import type { TextName } from "./text/en.js";

/** Limits on stored words, as the service states them. */
export interface VocabularyLimits {
  readonly hot_words: number;
  readonly hot_word_characters: number;
  readonly usual_weight: number;
  readonly largest_weight: number;
  readonly pronunciations: number;
  readonly pronunciation_characters: number;
}

/** Both lists as the user edits them, in lines. */
export interface WrittenLists {
  readonly hotwords: string;
  readonly pronunciations: string;
}

/** A broken rule, with the name of its text and the text's values. */
export interface ListFault {
  readonly field: keyof WrittenLists;
  /** From 1; null if the fault is about the whole list or its line is unknown. */
  readonly line: number | null;
  readonly text: TextName;
  readonly values: Readonly<Record<string, string | number>>;
}

export interface ReadLists {
  readonly words: VocabularyWords;
  /** Number of each entry's line, from 1. */
  readonly lines: Readonly<Record<keyof WrittenLists, readonly number[]>>;
  /** Number of the first line that is no pronunciation; null if there is none. */
  readonly brokenLine: number | null;
}

export function writeLists({ hotwords, pronunciations }: VocabularyWords): WrittenLists {
  return {
    hotwords: hotwords.map(inOneLine).join("\n"),
    pronunciations: writePronunciations(pronunciations),
  };
}

export function readLists(written: WrittenLists): ReadLists {
  const hotwords = readHotWords(written.hotwords);
  const { entries, lines, brokenLine } = readPronunciations(written.pronunciations);
  return {
    words: { hotwords: hotwords.map(({ word }) => word), pronunciations: entries },
    lines: { hotwords: hotwords.map(({ line }) => line), pronunciations: lines },
    brokenLine,
  };
}

/** Accepts commas between words too, as other fields do. A comma before a digit belongs to a weight: "2,5". */
function readHotWords(written: string) {
  return written.split("\n").flatMap((line, index) =>
    line
      .split(/,(?!\d)/)
      .map((part) => inOneLine(part).replace(/:( ?\d+),/, ":$1."))
      .filter((word) => word !== "")
      .map((word) => ({ word, line: index + 1 })),
  );
}

/** Returns the first broken rule that the page knows; the service checks the others. */
export function faultIn(read: ReadLists, limits: VocabularyLimits): ListFault | null {
  return hotWordFault(read, limits) ?? pronunciationFault(read, limits);
}

function hotWordFault({ words, lines }: ReadLists, limits: VocabularyLimits): ListFault | null {
  const field = "hotwords";
  const { hot_words: most, hot_word_characters: longest, largest_weight: largest } = limits;
  const count = words.hotwords.length;
  if (count > most)
    return { field, line: lines.hotwords[most] ?? null, text: "tooManyLines", values: { most, n: count } };
  for (const [index, written] of words.hotwords.entries()) {
    const line = lines.hotwords[index] ?? 0;
    const [word = "", ...rest] = written.split(":");
    if (!isLength(foldedHotWord(word), longest)) {
      return { field, line, text: "lineLength", values: { line, most: longest } };
    }
    if (rest.length > 0 && !isWeight(rest.join(":").trim(), largest)) {
      return { field, line, text: "hotWordWeight", values: { line, largest } };
    }
  }
  return null;
}

function isWeight(written: string, largest: number): boolean {
  return /^\d{1,2}(\.\d{1,6})?$/.test(written) && Number(written) <= largest;
}

function pronunciationFault(
  { words, lines, brokenLine }: ReadLists,
  limits: VocabularyLimits,
): ListFault | null {
  const field = "pronunciations";
  const { pronunciations: most, pronunciation_characters: longest } = limits;
  if (brokenLine !== null) {
    return { field, line: brokenLine, text: "pronunciationsWrong", values: { n: brokenLine } };
  }
  const count = words.pronunciations.length;
  if (count > most) {
    return {
      field,
      line: lines.pronunciations[most] ?? null,
      text: "tooManyLines",
      values: { most, n: count },
    };
  }
  const firstLines = new Map<string, number>();
  for (const [index, { word, say }] of words.pronunciations.entries()) {
    const line = lines.pronunciations[index] ?? 0;
    if (!isLength(word, longest) || !isLength(say, longest)) {
      return { field, line, text: "lineLength", values: { line, most: longest } };
    }
    const first = firstLines.get(word.toLowerCase());
    if (first !== undefined) return { field, line, text: "pronunciationTwice", values: { line, first } };
    firstLines.set(word.toLowerCase(), line);
  }
  return null;
}

/**
 * Finds the rule that the service's English message is about; null if the page has no text for it.
 *
 * @param detail as `core/protocol/hot-words.ts` and `pronunciations.ts` write it
 */
export function rejectedFault(detail: string, { words, lines }: ReadLists): ListFault | null {
  const entry = /^pronunciations\[(\d+)\]\.(word|say) /.exec(detail);
  if (entry !== null) {
    const line = lines.pronunciations[Number(entry[1])] ?? 0;
    const text = entry[2] === "word" ? "pronunciationWord" : "pronunciationSay";
    return { field: "pronunciations", line, text, values: { line } };
  }
  const spelling = /^hotwords must be written in the model's letters, received "(.+)" in "(.+)"$/.exec(
    detail,
  );
  if (spelling === null) return null;
  const [, letter = "", word = ""] = spelling;
  const at = words.hotwords.findIndex((written) => foldedHotWord(written.split(":")[0] ?? "") === word);
  return {
    field: "hotwords",
    line: lines.hotwords[at] ?? null,
    text: "hotWordLetter",
    values: { word, letter },
  };
}

/** The form in which the service compares and counts hot words. */
function foldedHotWord(written: string): string {
  return inOneLine(written.normalize("NFC").toLowerCase());
}

function isLength(text: string, longest: number): boolean {
  const length = [...text].length;
  return length >= 1 && length <= longest;
}
