import { setImmediate as nextTurn } from "node:timers/promises";
import { transcriptCuesInSteps } from "../../core/domain/text/speaker-cues.js";
import { type Cue, formatSrt, formatVtt } from "../../core/domain/text/subtitles.js";
import type { Transcription } from "../../core/protocol/transcription-schemas.js";

/** Formats a transcription with words as SubRip subtitles. */
export async function srtOf(transcription: Transcription): Promise<string> {
  return formatSrt(await cuesOf(transcription));
}

/** Formats a transcription with words as WebVTT subtitles. */
export async function vttOf(transcription: Transcription): Promise<string> {
  return formatVtt(await cuesOf(transcription));
}

/**
 * Lays out subtitles in steps, because two hours of speech would block other clients for a tenth of a second.
 */
async function cuesOf(transcription: Transcription): Promise<readonly Cue[]> {
  const steps = transcriptCuesInSteps(transcription);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await nextTurn();
  }
}
