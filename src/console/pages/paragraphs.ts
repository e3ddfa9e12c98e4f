import type { TimedWord } from "../../../core/domain/decoding/words.js";

export interface Paragraph {
  /** Seconds from the start of the audio. */
  readonly start: number;
  /** Index of its first word. */
  readonly from: number;
  readonly words: readonly TimedWord[];
}

/** A pause this long starts a paragraph. Segments, which end after 0.5 s, would be too short. */
const PAUSE_SECONDS = 1.2;
/** A paragraph this long ends with its segment. */
const LONG_SECONDS = 30;

/**
 * Groups words into paragraphs, which start only where a segment starts.
 *
 * @param words in order of time
 * @param segments runs of speech between pauses, in order of time
 */
export function toParagraphs(
  words: readonly TimedWord[],
  segments: readonly { readonly start: number }[],
): readonly Paragraph[] {
  const paragraphs: { start: number; from: number; words: TimedWord[] }[] = [];
  let next = 0;
  for (const [index, word] of words.entries()) {
    const middle = (word.start + word.end) / 2;
    const first = next;
    while ((segments[next]?.start ?? Number.POSITIVE_INFINITY) <= middle) next++;
    const last = paragraphs.at(-1);
    const before = last?.words.at(-1);
    const isBreak =
      last === undefined ||
      before === undefined ||
      (next > first && (word.start - before.end >= PAUSE_SECONDS || word.start - last.start >= LONG_SECONDS));
    if (isBreak) paragraphs.push({ start: word.start, from: index, words: [word] });
    else last.words.push(word);
  }
  return paragraphs;
}
