import { LOWER } from "./letters.js";

/** A hyphen between two readings, which have spaces around them; `prepare` removes it from texts. */
export const GLUED_HYPHEN = "\u2010";

/** A word with inner hyphens, moved from [start, end) of the untidy text to [spokenStart, spokenEnd). */
export interface TidyWord {
  readonly spokenStart: number;
  readonly spokenEnd: number;
  readonly start: number;
  readonly end: number;
}

export interface TidyText {
  readonly spoken: string;
  readonly words: readonly TidyWord[];
}

const LETTERS = new RegExp(`[${LOWER}]+`, "gu");
/** Marks from strongest to weakest; a run of marks becomes the strongest one. */
const STRONGEST_FIRST = ["?", "!", ".", ";", ":", ","];
const GLUE = /^[ \t]*\u2010[ \t]*$/u;
const DASH = /[–—]|[ \t][-–—]+[ \t]/u;

/**
 * Converts spoken text to its canonical form: lower case, single spaces, one mark at a time with a space
 * after it, dashes between spaces, hyphens only inside words, a letter first. Returns an empty text without a
 * letter.
 */
export function tidy(untidy: string): TidyText {
  const text = untidy.toLowerCase();
  const words: TidyWord[] = [];
  let spoken = "";
  let end = 0;
  LETTERS.lastIndex = 0;
  for (let match = LETTERS.exec(text); match !== null; match = LETTERS.exec(text)) {
    const start = match.index;
    const last = words.at(-1);
    const between = last === undefined ? "" : separator(text.slice(end, start));
    end = start + match[0].length;
    spoken += between + match[0];
    if (last !== undefined && between === "-") {
      words[words.length - 1] = { ...last, spokenEnd: spoken.length, end };
    } else {
      words.push({ spokenStart: spoken.length - match[0].length, spokenEnd: spoken.length, start, end });
    }
  }
  if (words.length > 0) spoken += finalMark(text.slice(end));
  return { spoken, words };
}

/** Returns the canonical separator between two words. */
function separator(gap: string): string {
  if (gap === " " || gap === "  ") return " ";
  if (gap === "-" || GLUE.test(gap)) return "-";
  const mark = STRONGEST_FIRST.find((candidate) => gap.includes(candidate));
  // Three dots in the middle of a sentence are a hesitation.
  if (mark === "." && gap.includes("...")) return ", ";
  if (mark !== undefined) return `${mark} `;
  return DASH.test(gap) ? " — " : " ";
}

function finalMark(gap: string): string {
  return STRONGEST_FIRST.slice(0, 3).find((candidate) => gap.includes(candidate)) ?? "";
}
