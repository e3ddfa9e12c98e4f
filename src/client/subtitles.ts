import { formatSrt, formatVtt, toCues } from "../../core/domain/text/subtitles.js";
import type { TimedWord, Transcription } from "./types.js";

/**
 * SubRip subtitles, as the service makes them: cues of at most two lines of 42 characters, 0.8 to 7 s.
 *
 * @throws {TypeError} for a transcription without words: ask for it with `timestamps: true`
 */
export function toSrt(transcription: Pick<Transcription, "words">): string {
  return formatSrt(toCues(wordsOf(transcription)));
}

/** WebVTT subtitles, cut like those of `toSrt`. @throws {TypeError} for a transcription without words */
export function toVtt(transcription: Pick<Transcription, "words">): string {
  return formatVtt(toCues(wordsOf(transcription)));
}

function wordsOf({ words }: Pick<Transcription, "words">): readonly TimedWord[] {
  if (words !== undefined) return words;
  throw new TypeError("subtitles need the times of words: transcribe with timestamps: true");
}
