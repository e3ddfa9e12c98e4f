import { type Numerals, writtenFigures } from "../figures/figures.js";
import { bare } from "../redaction/spoken-digits.js";
import type { DisplayedWord } from "./display-text.js";

const PARTING = ",";

/**
 * Displays the words of a recogniser that writes capitals and marks itself. These are kept; numbers become
 * digits only if the client wants all of them in digits.
 * @returns displayed words in order; together they cover every word once
 */
export function keptWords(own: readonly string[], numerals: Numerals): DisplayedWord[] {
  return numerals === "all" ? withFigures(own) : own.map(alone);
}

/** No number continues after a mark, so the rules for numbers treat a mark as a separate word. */
function withFigures(own: readonly string[]): DisplayedWord[] {
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

function alone(text: string, at: number): DisplayedWord {
  return { text, first: at, end: at + 1 };
}

function marksAfter(word: string): string {
  return /[.,;:!?…»”")]{1,6}$/u.exec(word)?.[0] ?? "";
}
