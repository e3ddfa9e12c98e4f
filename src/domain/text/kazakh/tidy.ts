import { LOWER } from "./letters.js";

/** A hyphen between two readings, which come with spaces. `prepare` leaves none in a text. */
export const GLUED_HYPHEN = "\u2010";

const MARK_RUN = /[\s,.!?:;—]+/gu;
/** A run of marks becomes the one that matters most to the voice. */
const STRONGEST_FIRST = ["?", "!", ".", ";", ":", ",", "—"];
const LONE_HYPHEN = new RegExp(`(?<![${LOWER}])-+|-+(?![${LOWER}])|-{2,}`, "gu");

/**
 * The canonical form of spoken text: single spaces, one mark at a time with a space after it, dashes between spaces,
 * hyphens only inside words, a letter first.
 */
export function tidy(text: string): string {
  return text
    .toLowerCase()
    .replace(/ *\u2010 */gu, "-")
    .replace(/[ \t]+[-–—]+[ \t]+|[–—]+/gu, " — ")
    .replace(LONE_HYPHEN, " ")
    .replace(LONE_HYPHEN, " ")
    .replace(MARK_RUN, strongest)
    .replace(/^[\s,.!?:;—-]+|[\s,:;—-]+$/gu, "");
}

function strongest(run: string, at: number, text: string): string {
  const mark = STRONGEST_FIRST.find((candidate) => run.includes(candidate));
  // Three dots in the middle of a sentence are a hesitation.
  const isHesitation = mark === "." && run.includes("...") && /\S/u.test(text.slice(at + run.length));
  if (isHesitation) return ", ";
  if (mark === "—") return " — ";
  return mark === undefined ? " " : `${mark} `;
}
