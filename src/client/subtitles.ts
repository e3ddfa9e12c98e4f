import { readingCues } from "../../core/domain/text/cues.js";
import { formatSrt, formatVtt } from "../../core/domain/text/subtitles.js";
import type { Transcription, TranscriptWord } from "./types.js";

/** A transcription, or another object with words. */
export type WordsToShow = Pick<Transcription, "words" | "display_words">;

export interface SubtitleOptions {
  /** Uses `display_words` if the transcription has them (default), or always the plain `words`. */
  readonly display?: boolean | undefined;
}

/**
 * Formats SubRip subtitles as the service does: cues break at sentences and clauses, and have at most two
 * lines of 42 characters, 1 to 7 s, and at most 17 characters a second where the speech leaves time. With
 * speakers, a cue belongs to one of them; SubRip names each new one before its text, WebVTT in a voice tag.
 * @throws {TypeError} if the transcription has no words; request it with `timestamps: true`
 */
export function toSrt(transcription: WordsToShow, options: SubtitleOptions = {}): string {
  return formatSrt(readingCues(wordsOf(transcription, options)));
}

/** Formats WebVTT subtitles with the same cues as `toSrt`. @throws {TypeError} if there are no words */
export function toVtt(transcription: WordsToShow, options: SubtitleOptions = {}): string {
  return formatVtt(readingCues(wordsOf(transcription, options)));
}

function wordsOf(
  { words, display_words }: WordsToShow,
  { display = true }: SubtitleOptions,
): readonly TranscriptWord[] {
  const shown = display ? (display_words ?? words) : words;
  if (shown !== undefined) return shown;
  throw new TypeError("subtitles need word times; transcribe with timestamps: true");
}
