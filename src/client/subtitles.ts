import { transcriptCues } from "../../core/domain/text/speaker-cues.js";
import { type Cue, formatSrt, formatVtt } from "../../core/domain/text/subtitles.js";
import type { Transcription } from "./transcription-types.js";

/** A transcription, or any object with words. */
export type WordsToShow = Pick<Transcription, "words" | "display_words" | "channels">;

export interface SubtitleOptions {
  /** Uses `display_words` if the transcription has them (default), or always the plain `words`. */
  readonly display?: boolean | undefined;
}

/**
 * Formats SubRip subtitles as the service does. Cues break at sentences and clauses, have at most two lines
 * of 42 characters, and last 1 to 7 s, with at most 17 characters a second where the speech allows it. If the
 * transcription has speakers or split channels, each cue belongs to one of them: SubRip shows a new speaker's
 * name before the text, WebVTT uses a voice tag.
 * @throws {TypeError} if the transcription has no words; request it with `timestamps: true`
 */
export function toSrt(transcription: WordsToShow, options: SubtitleOptions = {}): string {
  return formatSrt(cuesOf(transcription, options));
}

/** Formats WebVTT subtitles with the same cues as `toSrt`. @throws {TypeError} if there are no words */
export function toVtt(transcription: WordsToShow, options: SubtitleOptions = {}): string {
  return formatVtt(cuesOf(transcription, options));
}

function cuesOf(transcription: WordsToShow, { display = true }: SubtitleOptions): readonly Cue[] {
  const { words, display_words, channels } = transcription;
  if (words === undefined && (display_words === undefined || !display))
    throw new TypeError("subtitles need word times; transcribe with timestamps: true");
  if (display) return transcriptCues(transcription);
  const plain = channels?.map((own) => ({ words: own.words }));
  return transcriptCues({ words, channels: plain });
}
