/** A pause mark at [start, end) of a text, UTF-16 units: "[pause 500ms]". */
export interface PauseMark {
  readonly start: number;
  readonly end: number;
  readonly milliseconds: number;
}

export const LONGEST_PAUSE_MS = 10_000;
/**
 * Maximum total of all pauses in a text: they cost a few characters each, but are held in memory like speech.
 */
export const LONGEST_PAUSES_MS = 120_000;

/** A bracket that starts like a mark with a number; "[pause]" and other brackets are text. */
const BEGUN = /\[\s*pause\s+(?=[-+.,]?\d)([^[\]]*)\]/giu;
const LENGTH = /^(\d{1,6}(?:[.,]\d{1,3})?)\s*(ms|s)\s*$/iu;

export function pauseMarks(text: string): PauseMark[] {
  return bracketsOf(text).filter((bracket) => bracket.milliseconds <= LONGEST_PAUSE_MS);
}

/** Returns the rule that the pause marks of a text break, or null. */
export function brokenPauseRule(text: string): string | null {
  const brackets = bracketsOf(text);
  const broken = brackets.find(({ milliseconds }) => !(milliseconds <= LONGEST_PAUSE_MS));
  if (broken !== undefined) {
    const mark = JSON.stringify(text.slice(broken.start, Math.min(broken.end, broken.start + 60)));
    return `a pause must be [pause 500ms] or [pause 1.5s] of at most ${LONGEST_PAUSE_MS / 1_000} s, received ${mark}`;
  }
  const sum = brackets.reduce((total, { milliseconds }) => total + milliseconds, 0);
  if (sum <= LONGEST_PAUSES_MS) return null;
  return `pauses must be at most ${LONGEST_PAUSES_MS / 1_000} s together, received ${sum / 1_000} s`;
}

/** Returns everything that starts like a mark, with NaN milliseconds for an invalid length. */
function bracketsOf(text: string): PauseMark[] {
  return Array.from(text.matchAll(BEGUN), ({ 0: mark, 1: length = "", index }) => ({
    start: index,
    end: index + mark.length,
    milliseconds: millisecondsOf(length),
  }));
}

function millisecondsOf(length: string): number {
  const [, number = "", unit = ""] = LENGTH.exec(length) ?? [];
  if (number === "") return Number.NaN;
  return Number(number.replace(",", ".")) * (unit.toLowerCase() === "s" ? 1_000 : 1);
}
