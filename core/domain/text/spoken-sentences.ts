import { readAsWritten } from "./as-written.js";
import { latinAlphabetOf } from "./kazakh/latin-kazakh.js";
import { type NormalizeOptions, normalizeKazakh, type SpokenWord } from "./kazakh/normalize.js";
import { pauseMarks } from "./pause-marks.js";
import { goesOnInRussian } from "./russian/abbreviations.js";
import { normalizeRussian } from "./russian/normalize.js";
import { pieceRanges, splitIntoSentences } from "./sentences.js";

/** Text that a voice speaks in one pass. */
export interface SpokenPiece {
  readonly text: string;
  /** Its words in order; spoken positions count from the piece's start, written ones from the text's. */
  readonly words: readonly SpokenWord[];
}

/**
 * A sentence [start, end) of a text, UTF-16 units, with its spoken pieces, if there are any. A pause mark
 * ends a sentence and belongs to it.
 */
export interface SpokenSentence {
  readonly start: number;
  readonly end: number;
  readonly pieces: readonly SpokenPiece[];
  /** Positions in the text of characters (code points) that cannot be spoken. */
  readonly dropped: readonly number[];
  /** Silence that a mark requests after the sentence; null without a mark. */
  readonly pauseMs: number | null;
}

const READERS = { kazakh: normalizeKazakh, russian: normalizeRussian, "as-written": readAsWritten } as const;

export type Reader = keyof typeof READERS;

/** How a text is read. */
export interface ReadingOptions extends NormalizeOptions {
  /**
   * Language of the rules for numbers and signs, Kazakh by default; `as-written` leaves them to the voice,
   * regardless of `expand`.
   */
  readonly reader?: Reader;
}

/** The reader for a voice that speaks some languages: Kazakh first, then Russian. */
export function readerFor(languages: readonly string[]): Reader {
  if (languages.includes("kk")) return "kazakh";
  return languages[0] === "ru" ? "russian" : "as-written";
}

/** Converts a text to sentences of spoken pieces, with the written range of every word. */
export function spokenSentences(text: string, options: ReadingOptions): SpokenSentence[] {
  return [...eachSpokenSentence(text, options)];
}

/** Converts lazily, sentence by sentence, because a long text takes milliseconds. */
export function* eachSpokenSentence(
  text: string,
  given: ReadingOptions,
): Generator<SpokenSentence, void, undefined> {
  const options = { ...given, latin: latinAlphabetOf(text) };
  let start = 0;
  for (const mark of pauseMarks(text)) {
    let last: SpokenSentence | null = null;
    for (const sentence of sentencesBetween(text, { start, end: mark.start }, options)) {
      if (last !== null) yield last;
      last = sentence;
    }
    const marked = last ?? { start, pieces: [], dropped: [] };
    yield { ...marked, end: mark.end, pauseMs: mark.milliseconds };
    start = mark.end;
  }
  yield* sentencesBetween(text, { start, end: text.length }, options);
}

function* sentencesBetween(
  text: string,
  range: { readonly start: number; readonly end: number },
  options: ReadingOptions,
): Generator<SpokenSentence, void, undefined> {
  let { start } = range;
  const { reader = "kazakh" } = options;
  const read = READERS[reader];
  const part = text.slice(start, range.end);
  for (const written of splitIntoSentences(part, reader === "russian" ? goesOnInRussian : undefined)) {
    const offset = start;
    start += written.length;
    const { spoken, words, dropped } = read(written, options);
    yield {
      start: offset,
      end: start,
      pieces: piecesOf(spoken, words, offset),
      dropped: dropped.map((at) => at + offset),
      pauseMs: null,
    };
  }
}

/** Splits a sentence into pieces; a word longer than a piece is in each piece with a part of it. */
function piecesOf(spoken: string, words: readonly SpokenWord[], offset: number): SpokenPiece[] {
  let index = 0;
  return pieceRanges(spoken).map(({ start, end }) => {
    const inside: SpokenWord[] = [];
    for (let word = words[index]; word !== undefined && word.spokenStart < end; word = words[index]) {
      inside.push({
        spokenStart: Math.max(0, word.spokenStart - start),
        spokenEnd: Math.min(end, word.spokenEnd) - start,
        start: word.start + offset,
        end: word.end + offset,
      });
      if (word.spokenEnd > end) break;
      index++;
    }
    return { text: spoken.slice(start, end), words: inside };
  });
}
