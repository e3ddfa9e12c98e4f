import type { TimedWord } from "../decoding/words.js";

export interface Cue {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly lines: readonly string[];
  /** From 0, a speaker or a channel transcribed separately; absent if neither is known. */
  readonly speaker?: number | undefined;
}

const LINE_CHARACTERS = 42;

/** Names a speaker for readers, who count from 1. */
export function speakerName(speaker: number): string {
  return `Speaker ${speaker + 1}`;
}

/** Formats cues as SubRip; names a speaker wherever it changes. */
export function formatSrt(cues: readonly Cue[]): string {
  const blocks = cues.map((cue, index) => {
    const time = `${clock(cue.startSeconds, ",")} --> ${clock(cue.endSeconds, ",")}`;
    const isNew = cue.speaker !== undefined && cue.speaker !== cues[index - 1]?.speaker;
    const name = isNew ? `${speakerName(cue.speaker)}: ` : "";
    return `${index + 1}\n${time}\n${name}${cue.lines.join("\n")}\n\n`;
  });
  return blocks.join("");
}

/** Formats cues as WebVTT; speakers are voice tags. @see https://www.w3.org/TR/webvtt1/#syntax */
export function formatVtt(cues: readonly Cue[]): string {
  const blocks = cues.map((cue) => {
    const time = `${clock(cue.startSeconds, ".")} --> ${clock(cue.endSeconds, ".")}`;
    const voice = cue.speaker === undefined ? "" : `<v ${speakerName(cue.speaker)}>`;
    return `${time}\n${voice}${cue.lines.map(escapeVtt).join("\n")}\n\n`;
  });
  return `WEBVTT\n\n${blocks.join("")}`;
}

/** A word that is longer than a line is cut into pieces, which share its time. */
export function fitToLine(word: TimedWord): readonly TimedWord[] {
  if (word.word.length <= LINE_CHARACTERS) return [word];
  const characters = [...word.word];
  if (characters.length <= LINE_CHARACTERS) return [word];
  const pieces: TimedWord[] = [];
  const secondsEach = (word.end - word.start) / characters.length;
  for (let start = 0; start < characters.length; start += LINE_CHARACTERS) {
    const piece = characters.slice(start, start + LINE_CHARACTERS);
    const from = word.start + start * secondsEach;
    pieces.push({ word: piece.join(""), start: from, end: from + piece.length * secondsEach });
  }
  return pieces;
}

/** Formats a time as `HH:MM:SS`, the separator, and milliseconds; hours may have more than two digits. */
function clock(seconds: number, separator: string): string {
  const totalMs = Math.round(seconds * 1_000);
  const digits = (value: number, width: number) => String(value).padStart(width, "0");
  const hours = digits(Math.floor(totalMs / 3_600_000), 2);
  const minutes = digits(Math.floor(totalMs / 60_000) % 60, 2);
  const wholeSeconds = digits(Math.floor(totalMs / 1_000) % 60, 2);
  return `${hours}:${minutes}:${wholeSeconds}${separator}${digits(totalMs % 1_000, 3)}`;
}

function escapeVtt(line: string): string {
  return line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("-->", "--&gt;");
}
