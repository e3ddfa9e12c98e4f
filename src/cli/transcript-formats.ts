import { speakerLines } from "../../core/domain/text/speaker-lines.js";
import { speakerName } from "../../core/domain/text/subtitles.js";
import { toSrt, toVtt } from "../client/subtitles.js";
import type { Transcription } from "../client/transcription-types.js";
import type { Options } from "./command.js";

/** Transcript format, which is also the file extension. */
export type TranscriptFormat = "txt" | "srt" | "vtt" | "json";

const BY_OPTION = ["srt", "vtt", "json"] as const;

export function requestedFormats(options: Options): readonly TranscriptFormat[] {
  return BY_OPTION.filter((format) => options.isSet(format));
}

/** Returns the format for a file's extension; null for other extensions. */
export function formatOfName(path: string): TranscriptFormat | null {
  const ending = /\.(txt|srt|vtt|json)$/i.exec(path)?.[1]?.toLowerCase();
  return (ending as TranscriptFormat | undefined) ?? null;
}

/**
 * Formats a transcript, including the last line break.
 * @param transcription must have words for subtitles, and segments for text with times; readable text is used
 *   if present
 */
export function formatTranscript(
  format: TranscriptFormat,
  transcription: Transcription,
  { hasTimes }: { readonly hasTimes: boolean },
): string {
  if (format === "srt") return toSrt(transcription);
  if (format === "vtt") return toVtt(transcription);
  if (format === "json") return `${JSON.stringify(transcription)}\n`;
  const { text, segments, display_text, speakers, channels } = transcription;
  if (!hasTimes && speakers !== undefined && segments !== undefined)
    return speakerLines(segments)
      .map((line) => `${line}\n`)
      .join("");
  if (segments === undefined || (!hasTimes && channels === undefined)) return `${display_text ?? text}\n`;
  const lines = segments.map(({ start, end, channel, speaker = channel, ...segment }) => {
    const said = segment.display_text ?? segment.text;
    const time = hasTimes ? `[${clock(start)} - ${clock(end)}] ` : "";
    const name = speaker === undefined ? "" : `${speakerName(speaker)}: `;
    // All spoken words of a number belong to the segment in which the number starts.
    if (said === "" && segment.text !== "") return "";
    return `${time}${name}${said}\n`;
  });
  return lines.join("");
}

function clock(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return `${String(minutes).padStart(2, "0")}:${(seconds - minutes * 60).toFixed(2).padStart(5, "0")}`;
}
