import type { FileWord, ReadableWord } from "../domain/decoding/transcript.js";
import { ratio, seconds } from "../domain/rounded.js";
import { displayLine } from "../domain/text/display/display-text.js";
import type { ListenFileWord } from "./listen-file-schemas.js";

/** Quotes before a word, and marks after it; a hyphen after digits belongs to them. */
const MARKS_BEFORE = /^[«“"(]{1,3}/u;
const MARKS_AFTER = /(?: —|[.,:;!?…»”")]{1,6}|(?<=\p{L})-)$/u;

/**
 * Returns a transcript's words, one per displayed word.
 * @param said words of the plain transcript; a missing confidence counts as 0
 * @param readable their displayed words; null for the plain transcript
 * @param hasMarks adds `punctuated_word`
 */
export function listenWords(
  said: readonly FileWord[],
  readable: readonly ReadableWord[] | null,
  hasMarks: boolean,
): readonly ListenFileWord[] {
  if (readable === null) return said.map((word) => scored(word, word.confidence));
  return readable.map(({ word, start, end, spoken, speaker }) => {
    const confidences = said.slice(...spoken).map(({ confidence = 0 }) => confidence);
    const least = confidences.length === 0 ? 0 : Math.min(...confidences);
    return {
      ...scored({ word: plainWord(word), start, end, ...(speaker !== undefined && { speaker }) }, least),
      ...(hasMarks && { punctuated_word: word }),
    };
  });
}

/** Joins words to a text, with their marks if they have any. */
export function listenText(words: readonly ListenFileWord[]): string {
  return displayLine(words.map(({ word, punctuated_word }) => punctuated_word ?? word));
}

/** Returns a displayed word in lower case without marks; labels of masked data stay unchanged. */
export function plainWord(text: string): string {
  const word = text.replace(MARKS_BEFORE, "").replace(MARKS_AFTER, "");
  if (word === "") return text;
  return word.startsWith("[") ? word : word.toLowerCase();
}

function scored({ word, start, end, speaker }: FileWord, confidence = 0): ListenFileWord {
  return {
    ...{ word, start: seconds(start), end: seconds(end), confidence: ratio(confidence) },
    ...(speaker !== undefined && { speaker }),
  };
}
