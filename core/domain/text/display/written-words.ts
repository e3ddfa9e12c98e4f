import { writtenFigures } from "../figures/figures.js";
import { maskedPieces } from "../redaction/masks.js";
import { redact } from "../redaction/redact.js";
import { bare } from "../redaction/spoken-digits.js";
import type { Reading, ReadingTask } from "./reading.js";

const PARTING = ",";

/**
 * Makes the words of a recogniser readable that writes capitals and marks itself: they stay, and numbers become
 * figures only where the client wants all of them in figures.
 */
export function readWrittenWords({ words, context, ...task }: ReadingTask): Reading {
  const own = words.slice(context);
  const redactions = task.redact.length === 0 ? [] : redact(own.map(bare), task.redact);
  const before = task.previous === "none" || own.length === 0 || !task.display ? "" : " ";
  if (!task.display) return { pieces: [], redactions, before, stop: "", openWords: 0 };
  const pieces = task.numerals === "all" ? withFigures(own) : own.map(alone);
  return {
    pieces: redactions.length === 0 ? pieces : maskedPieces(pieces, redactions),
    redactions,
    before,
    stop: "",
    openWords: 0,
  };
}

/** No number goes on behind a mark, so a mark is a word of its own for the rules of figures. */
function withFigures(own: readonly string[]) {
  const said: { readonly word: string; readonly at: number }[] = [];
  for (const [at, word] of own.entries()) {
    said.push({ word: bare(word), at });
    if (marksAfter(word) !== "") said.push({ word: PARTING, at });
  }
  const spoken = said.map(({ word }) => word);
  return writtenFigures(spoken, "all").flatMap(({ text, first, end }) => {
    if (text === PARTING) return [];
    const [from, last] = [said[first]!.at, said[end - 1]!.at];
    if (end - first === 1 && text === spoken[first]) return [alone(own[from]!, from)];
    return [{ text: text + marksAfter(own[last]!), first: from, end: last + 1 }];
  });
}

function alone(text: string, at: number) {
  return { text, first: at, end: at + 1 };
}

function marksAfter(word: string): string {
  return /[.,;:!?…»”")]{1,6}$/u.exec(word)?.[0] ?? "";
}
