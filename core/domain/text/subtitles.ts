import type { TimedWord } from "../decoding/words.js";
import { countCodePoints } from "./code-points.js";

export interface Cue {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly lines: readonly string[];
}

const LINE_CHARACTERS = 42;
const MAX_LINES = 2;
const SHORTEST_SECONDS = 0.8;
const LONGEST_SECONDS = 7;
/** A silence this long ends a cue, so that words do not appear before they are spoken. */
const PAUSE_SECONDS = 1;

/**
 * Groups words into cues of at most two lines of 42 characters and at most 7 s. A cue lasts at least 0.8 s if
 * the next one leaves room for it; cues do not overlap.
 *
 * @param words in order, in seconds
 */
export function toCues(words: readonly TimedWord[]): readonly Cue[] {
  const groups: Group[] = [];
  for (const word of words) {
    for (const piece of fitToLine(word)) {
      const group = groups.at(-1);
      if (group === undefined || !group.take(piece)) groups.push(new Group(piece));
    }
  }
  return groups.map(({ start: startSeconds, end, lines }, index) => {
    const nextSeconds = groups[index + 1]?.start ?? Number.POSITIVE_INFINITY;
    const spokenUntil = Math.min(end, startSeconds + LONGEST_SECONDS);
    const endSeconds = Math.min(Math.max(spokenUntil, startSeconds + SHORTEST_SECONDS), nextSeconds);
    return { startSeconds, endSeconds, lines };
  });
}

/** Formats cues as SubRip. */
export function formatSrt(cues: readonly Cue[]): string {
  const blocks = cues.map((cue, index) => {
    const time = `${clock(cue.startSeconds, ",")} --> ${clock(cue.endSeconds, ",")}`;
    return `${index + 1}\n${time}\n${cue.lines.join("\n")}\n\n`;
  });
  return blocks.join("");
}

/** Formats cues as WebVTT. @see https://www.w3.org/TR/webvtt1/#syntax */
export function formatVtt(cues: readonly Cue[]): string {
  const blocks = cues.map((cue) => {
    const time = `${clock(cue.startSeconds, ".")} --> ${clock(cue.endSeconds, ".")}`;
    return `${time}\n${cue.lines.map(escapeVtt).join("\n")}\n\n`;
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

/** The growing lines of one cue. */
class Group {
  readonly start: number;
  readonly lines: string[];
  #end: number;
  /** Code points of the last line. */
  #lineLength: number;

  constructor({ word, start, end }: TimedWord) {
    this.start = start;
    this.#end = end;
    this.lines = [word];
    this.#lineLength = countCodePoints(word);
  }

  get end(): number {
    return this.#end;
  }

  /** Adds a word; false when it must start another cue. */
  take({ word, start, end }: TimedWord): boolean {
    if (start - this.#end >= PAUSE_SECONDS || end - this.start > LONGEST_SECONDS) return false;
    const length = countCodePoints(word);
    if (this.#lineLength + 1 + length <= LINE_CHARACTERS) {
      this.lines[this.lines.length - 1] += ` ${word}`;
      this.#lineLength += 1 + length;
    } else {
      if (this.lines.length === MAX_LINES) return false;
      this.lines.push(word);
      this.#lineLength = length;
    }
    this.#end = end;
    return true;
  }
}

/** `HH:MM:SS`, the separator, and milliseconds; hours may have more than two digits. */
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
