import { setImmediate as nextTurn } from "node:timers/promises";
import { transcriptCuesInSteps } from "../../core/domain/text/speaker-cues.js";
import { type Cue, formatSrt, formatVtt } from "../../core/domain/text/subtitles.js";
import type { Transcription } from "../../core/protocol/transcription-schemas.js";
import { type LongBody, textBody } from "./long-body.js";

/** Formats a transcription with words as the body of a response. */
export async function subtitleBody(
  transcription: Transcription,
  format: "srt" | "vtt",
): Promise<{ readonly contentType: string; readonly body: LongBody }> {
  const cues = await cuesOf(transcription);
  return format === "srt"
    ? { contentType: "application/x-subrip; charset=utf-8", body: textBody(formatSrt(cues)) }
    : { contentType: "text/vtt; charset=utf-8", body: textBody(formatVtt(cues)) };
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
