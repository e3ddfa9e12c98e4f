import type { TimedWord } from "../../../core/domain/decoding/words.js";

export interface Paragraph {
  /** Seconds from the start of the audio. */
  readonly start: number;
  /** Index of the paragraph's first word. */
  readonly from: number;
  readonly words: readonly TimedWord[];
}

/** A pause of this length starts a paragraph. Segments end after 0.5 s, which would be too short. */
const PAUSE_SECONDS = 1.2;
/** A paragraph of this length ends with its current segment. */
const LONG_SECONDS = 30;

/**
 * Groups words into paragraphs. A paragraph starts only where a segment starts.
 *
 * @param words in chronological order
 * @param segments runs of speech between pauses, in chronological order
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
