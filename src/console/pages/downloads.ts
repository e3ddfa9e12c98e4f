import type { TimedWord } from "../../../core/domain/decoding/words.js";
import { formatSrt, formatVtt, toCues } from "../../../core/domain/text/subtitles.js";
import type { Transcribed } from "../../client/browser.js";

/** One form in which a result is saved. */
export interface Download {
  /** Of the file's name, and what its button says. */
  readonly ending: string;
  readonly type: string;
  readonly content: () => BlobPart;
}

/** What was said between two pauses, as it was heard; seconds from the beginning of the session. */
export interface HeardLine {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly words?: readonly TimedWord[] | undefined;
}

export function transcriptDownloads(transcript: Transcribed): readonly Download[] {
  const words = transcript.words ?? [];
  return [
    text(() => transcript.text),
    subtitles("srt", words),
    subtitles("vtt", words),
    {
      ending: "json",
      type: "application/json",
      content: () => JSON.stringify(transcript, null, 2),
    },
  ];
}

export function heardDownloads(lines: readonly HeardLine[]): readonly Download[] {
  const words = lines.flatMap(({ words, text, start, end }) => words ?? [{ word: text, start, end }]);
  return [text(() => heardText(lines)), subtitles("srt", words)];
}

/** A line for each utterance. */
export function heardText(lines: readonly HeardLine[]): string {
  return lines.map(({ text }) => text).join("\n");
}

function text(content: () => string): Download {
  return { ending: "txt", type: "text/plain", content };
}

function subtitles(ending: "srt" | "vtt", words: readonly TimedWord[]): Download {
  const isSrt = ending === "srt";
  return {
    ending,
    type: isSrt ? "application/x-subrip" : "text/vtt",
    content: () => (isSrt ? formatSrt : formatVtt)(toCues(words)),
  };
}
