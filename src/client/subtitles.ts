import { formatSrt, formatVtt, toCues } from "../../core/domain/text/subtitles.js";
import type { TimedWord, Transcription } from "./types.js";

/**
 * Formats SubRip subtitles as the service does: cues of at most two lines of 42 characters, 0.8 to 7 s.
 *
 * @throws {TypeError} if the transcription has no words; request it with `timestamps: true`
 */
export function toSrt(transcription: Pick<Transcription, "words">): string {
  return formatSrt(toCues(wordsOf(transcription)));
}

/** Formats WebVTT subtitles with the same cues as `toSrt`. @throws {TypeError} if there are no words */
export function toVtt(transcription: Pick<Transcription, "words">): string {
  return formatVtt(toCues(wordsOf(transcription)));
}

function wordsOf({ words }: Pick<Transcription, "words">): readonly TimedWord[] {
  if (words !== undefined) return words;
  throw new TypeError("subtitles need word times; transcribe with timestamps: true");
}
