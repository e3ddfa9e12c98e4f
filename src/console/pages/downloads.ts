import { writeWav } from "../../../core/domain/audio/wav.js";
import { speakerLines } from "../../../core/domain/text/speaker-lines.js";
import {
  type LiveDone,
  type LiveSentence,
  liveSentences,
  type SentencePart,
  type Transcribed,
  toSrt,
  toVtt,
} from "../../client/browser.js";
import type { TextForm } from "./shown-words.js";
import { t } from "./text/language.js";
import { textForm } from "./text-form.js";

/** A format in which a result can be saved. */
export interface Download {
  /** File name extension, which is also the button's label. */
  readonly ending: "txt" | "srt" | "vtt" | "json" | "wav";
  readonly content: () => Blob;
}

/** The text of a live session. */
export interface LiveSaid {
  readonly finals: readonly SentencePart[];
  /** Null until the session has ended normally. */
  readonly done: Pick<LiveDone, "displayEnd"> | null;
}

/** Offers a file as a browser download. */
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

/** Returns files of a transcript, in the text form that is selected when they are saved. */
export function transcriptDownloads(transcript: Transcribed): readonly Download[] {
  const shown = () => ({ display: textForm.value === "readable" });
  return [
    textFile("txt", "text/plain", () => transcriptText(transcript)),
    textFile("srt", "application/x-subrip", () => toSrt(transcript, shown())),
    textFile("vtt", "text/vtt", () => toVtt(transcript, shown())),
    textFile("json", "application/json", () => JSON.stringify(transcript, null, 2)),
  ];
}

/** Returns the selected form of a transcript, with a line for each turn if its speakers are known. */
export function transcriptText({ text, display_text = text, speakers, segments }: Transcribed): string {
  const isReadable = textForm.value === "readable";
  if (speakers === undefined || segments === undefined) return isReadable ? display_text : text;
  const shown = isReadable ? segments : segments.map(({ display_text: _, ...spoken }) => spoken);
  return speakerLines(shown, nameOfSpeaker).join("\n");
}

/** Names a speaker in the reader's language, who counts from 1. */
export function nameOfSpeaker(speaker: number): string {
  return t("speakerName", { n: speaker + 1 });
}

/** Returns files of a live session, in the text form that is selected when they are saved. */
export function liveDownloads(said: LiveSaid): readonly Download[] {
  const timed = () => ({ words: linesOf(said, textForm.value).flatMap(({ words }) => words) });
  return [
    textFile("txt", "text/plain", () => liveText(said)),
    textFile("srt", "application/x-subrip", () => toSrt(timed())),
    textFile("vtt", "text/vtt", () => toVtt(timed())),
  ];
}

/** Returns one line per sentence; in spoken form, one line per utterance. */
export function liveText(said: LiveSaid): string {
  return linesOf(said, textForm.value)
    .map(({ text }) => text)
    .join("\n");
}

export function linesOf({ finals, done }: LiveSaid, form: TextForm): readonly LiveSentence[] {
  if (form === "readable") return liveSentences(finals, done);
  return liveSentences(finals.map(({ text, start, end, words }) => ({ text, start, end, words })));
}

function textFile(ending: Download["ending"], type: string, text: () => string): Download {
  return { ending, content: () => new Blob([text()], { type }) };
}
