import { writeWav } from "../../../core/domain/audio/wav.js";
import type { TimedWord } from "../../../core/domain/decoding/words.js";
import { formatSrt, formatVtt, toCues } from "../../../core/domain/text/subtitles.js";
import type { Transcribed } from "../../client/browser.js";

/** One format in which a result can be saved. */
export interface Download {
  /** File name extension, also the button's label. */
  readonly ending: "txt" | "srt" | "vtt" | "json" | "wav";
  readonly content: () => Blob;
}

/** One utterance; seconds from the start of the session. */
export interface TranscriptLine {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly words?: readonly TimedWord[] | undefined;
}

/** Hands a file to the browser's downloads. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Encodes 16-bit mono PCM as a WAV file. */
export function wavBlob(samples: Int16Array, rateHz: number): Blob {
  return new Blob([new Uint8Array(writeWav(samples, rateHz))], { type: "audio/wav" });
}

export function wavDownload(wav: Blob): Download {
  return { ending: "wav", content: () => wav };
}

export function transcriptDownloads(transcript: Transcribed): readonly Download[] {
  const words = transcript.words ?? [];
  return [
    textFile("txt", "text/plain", () => transcript.text),
    srtFile(words),
    textFile("vtt", "text/vtt", () => formatVtt(toCues(words))),
    textFile("json", "application/json", () => JSON.stringify(transcript, null, 2)),
  ];
}

export function linesDownloads(lines: readonly TranscriptLine[]): readonly Download[] {
  const words = lines.flatMap(({ words, text, start, end }) => words ?? [{ word: text, start, end }]);
  return [textFile("txt", "text/plain", () => linesText(lines)), srtFile(words)];
}

/** One line per utterance. */
export function linesText(lines: readonly TranscriptLine[]): string {
  return lines.map(({ text }) => text).join("\n");
}

function srtFile(words: readonly TimedWord[]): Download {
  return textFile("srt", "application/x-subrip", () => formatSrt(toCues(words)));
}

function textFile(ending: Download["ending"], type: string, text: () => string): Download {
  return { ending, content: () => new Blob([text()], { type }) };
}
