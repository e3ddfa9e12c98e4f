import type { Numerals } from "../figures/figures.js";
import { maskedPieces } from "../redaction/masks.js";
import { type RedactedKind, type Redaction, redact } from "../redaction/redact.js";
import { bare } from "../redaction/spoken-digits.js";
import { displayedWords } from "./display-text.js";
import type { Mark, Punctuation, Stop } from "./marks.js";
import { keptWords } from "./written-words.js";

/** The form in which a client wants to read text. */
export interface ReadingOptions {
  /** Write digits, marks and capitals. */
  readonly display: boolean;
  readonly numerals: Numerals;
  /** Personal data to mask. */
  readonly redact: readonly RedactedKind[];
  /** The recogniser writes capitals and marks itself; they are kept. */
  readonly isWritten?: boolean;
}

/** How the previous text ended: `open` without a visible mark, `paused` with a long silence. */
export type PreviousEnd = "none" | "ended" | "open" | "paused";

/** Words to make readable. */
export interface ReadingTask extends ReadingOptions {
  /** As the recogniser returns them: lower case, unless `isWritten`. */
  readonly words: readonly string[];
  /** Seconds after each word, -1 where unknown. */
  readonly pauses: Float32Array | null;
  /** Number of leading words that are context, read earlier. */
  readonly context: number;
  readonly previous: PreviousEnd;
  /** The text is complete, so it ends with a mark; otherwise its last word has none yet. */
  readonly isOver: boolean;
}

/** A written word with its marks; it represents spoken words [first, end), counted after the context. */
interface ReadWord {
  readonly text: string;
  readonly first: number;
  readonly end: number;
}

export interface Reading {
  /** Together they cover every word after the context once; empty unless `display`. */
  readonly pieces: readonly ReadWord[];
  /** Words after the context. */
  readonly redactions: readonly Redaction[];
  /** Mark and space that join the previous text to this one. */
  readonly before: string;
  /** The mark that would end the text if it were complete; empty if the text has its own marks. */
  readonly stop: Stop | "";
  /** Words after the last end of a sentence, context included. */
  readonly openWords: number;
}

/** Whether text gets marks and capitals from a model. */
export function isPunctuated({ display, isWritten }: ReadingOptions): boolean {
  return display && isWritten !== true;
}

/**
 * Makes words readable.
 *
 * @param punctuation of all words of the task; null without a model: then only the final mark is written
 */
export function readWords(task: ReadingTask, punctuation: Punctuation | null): Reading {
  if (task.isWritten === true) return readWritten(task);
  const { words, context, numerals, previous, isOver } = task;
  const own = words.slice(context);
  const redactions = task.redact.length === 0 ? [] : redact(own, task.redact);
  const stop = punctuation?.stops.at(-1) ?? ".";
  if (!task.display || own.length === 0) return { pieces: [], redactions, before: "", stop, openWords: 0 };
  const mark = markBefore(previous, punctuation, context);
  const marks = own.map((_, at): Mark => punctuation?.marks[context + at] ?? "");
  if (isOver && !isStop(marks.at(-1)!)) marks[marks.length - 1] = stop;
  const displayed = displayedWords(
    own,
    {
      marks,
      cases: punctuation?.cases.slice(context) ?? [],
      stops: [],
      spellings: punctuation?.spellings?.slice(context) ?? [],
    },
    { numerals, isOpen: !isOver, isContinued: previous === "open" && !isStop(mark) },
  );
  const lastStop = marks.slice(0, isOver ? undefined : -1).findLastIndex(isStop);
  const kept = previous === "open" && !isStop(mark) ? context : 0;
  return {
    pieces: redactions.length === 0 ? displayed : maskedPieces(displayed, redactions),
    redactions,
    before: previous === "none" ? "" : between(mark),
    stop,
    openWords: lastStop === -1 ? kept + own.length : own.length - 1 - lastStop,
  };
}

/** Keeps text as its recogniser wrote it: words are joined with spaces, and no mark is open. */
function readWritten({ words, context, display, numerals, previous, ...task }: ReadingTask): Reading {
  const own = words.slice(context);
  const redactions = task.redact.length === 0 ? [] : redact(own.map(bare), task.redact);
  const pieces = display ? keptWords(own, numerals) : [];
  return {
    pieces: redactions.length === 0 ? pieces : maskedPieces(pieces, redactions),
    redactions,
    before: previous === "none" || pieces.length === 0 ? "" : " ",
    stop: "",
    openWords: 0,
  };
}

/** Joins this text to the one before it. */
function between(mark: Mark): string {
  if (mark === "—") return " — ";
  return mark === "-" ? " " : `${mark} `;
}

function markBefore(previous: PreviousEnd, punctuation: Punctuation | null, context: number): Mark {
  if (context === 0 || previous === "none" || previous === "ended") return "";
  if (previous === "paused") return punctuation?.stops[context - 1] ?? ".";
  return punctuation?.marks[context - 1] ?? "";
}

function isStop(mark: Mark): boolean {
  return mark === "." || mark === "?";
}
