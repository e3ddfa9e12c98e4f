import type { TimedWord } from "../../../core/domain/decoding/words.js";

interface Word extends TimedWord {
  readonly speaker?: number | undefined;
}

export interface Paragraph {
  /** Seconds from the start of the audio. */
  readonly start: number;
  /** Index of the paragraph's first word. */
  readonly from: number;
  readonly words: readonly TimedWord[];
  /** Of all its words, from 0; absent if speakers were not told apart. */
  readonly speaker?: number | undefined;
}

/** A pause of this length starts a paragraph. Segments end after 0.5 s, which would be too short. */
const PAUSE_SECONDS = 1.2;
/** A paragraph of this length ends with its current segment. */
const LONG_SECONDS = 30;

/**
 * Groups words into paragraphs, which start only where a segment or another speaker starts.
 *
 * @param words in chronological order
 * @param segments runs of speech between pauses, in chronological order
 */
export function toParagraphs(
  words: readonly Word[],
  segments: readonly { readonly start: number }[],
): readonly Paragraph[] {
  const paragraphs: { start: number; from: number; words: TimedWord[]; speaker?: number | undefined }[] = [];
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
      word.speaker !== last.speaker ||
      (next > first && (word.start - before.end >= PAUSE_SECONDS || word.start - last.start >= LONG_SECONDS));
    const { start, speaker } = word;
    if (isBreak) paragraphs.push({ start, from: index, words: [word], speaker });
    else last.words.push(word);
  }
  return paragraphs;
}
