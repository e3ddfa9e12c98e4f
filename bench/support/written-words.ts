import type { Case, Mark } from "../../core/domain/text/display/marks.js";
import { normalizeKazakh } from "../../core/domain/text/kazakh/normalize.js";
import { normalizeRussian } from "../../core/domain/text/russian/normalize.js";

/** A spoken word with its written form, in the terms of the punctuation model. */
export interface WrittenWord {
  /** Lower case, "ё" as "е". */
  readonly word: string;
  readonly mark: Mark;
  /** Case; null if it was written in digits. */
  readonly cased: Case | null;
}

const MARKS: ReadonlyMap<string, Mark> = new Map([
  [",", ","],
  [";", ","],
  [".", "."],
  ["…", "."],
  ["!", "."],
  ["?", "?"],
  [":", ":"],
  ["—", "-"],
  ["–", "-"],
  ["-", "-"],
]);

const TAIL_MARKS = /[\s.,;:?!…—–"«»()-]{0,20}$/u;
const EDGE_MARKS = /^[\s.,;:?!…—–"«»()-]+|[\s.,;:?!…—–"«»()-]+$/gu;

/**
 * Spells out a written line like the recipe of the punctuation model (`prepare.mjs`): hyphens separate words
 * and count as marks.
 */
export function writtenWords(line: string, language: "kk" | "ru"): WrittenWord[] {
  if (!/\d/.test(line)) return plainWords(line);
  const normalize = language === "ru" ? normalizeRussian : normalizeKazakh;
  const { spoken, words } = normalize(line, { expand: true });
  return words.flatMap(({ spokenStart, spokenEnd, start, end }, at) => {
    const next = words[at + 1];
    const isLast = next?.start !== start;
    const whole = line.slice(start, end);
    // Words that are copied unchanged keep their marks.
    const source = whole.replace(EDGE_MARKS, "");
    const tail = whole.slice(whole.search(TAIL_MARKS));
    const behind = isLast ? tail + line.slice(end, next?.start) : "";
    const parts = spoken.slice(spokenStart, spokenEnd).replace(EDGE_MARKS, "").split("-");
    const cases = /\d/.test(source) ? [] : source.split("-").map(caseOf);
    return parts.map((part, nth): WrittenWord => {
      const mark = nth < parts.length - 1 ? "-" : markIn(behind);
      const cased = /\d/.test(source) ? null : (cases[nth] ?? "lower");
      return { word: part.toLowerCase().replaceAll("ё", "е"), mark, cased };
    });
  });
}

function plainWords(line: string): WrittenWord[] {
  return [...line.matchAll(/[\p{L}\p{M}]+/gu)].map(({ 0: word, index }) => {
    const behind = /^[^\p{L}\p{M}]*/u.exec(line.slice(index + word.length))![0];
    return { word: word.toLowerCase().replaceAll("ё", "е"), mark: markIn(behind), cased: caseOf(word) };
  });
}

/**
 * Returns the mark after a word: a full stop or question mark overrides others; a hyphen joins words only
 * without spaces.
 */
function markIn(behind: string): Mark {
  const marks = [...behind].flatMap((sign) => MARKS.get(sign) ?? []);
  const stop = marks.find((mark) => mark === "?" || mark === ".");
  if (stop !== undefined) return stop;
  if (marks[0] !== "-") return marks[0] ?? "";
  return /^[-–]/.test(behind) && !/\s/.test(behind) ? "-" : "—";
}

function caseOf(word: string): Case {
  const letters = word.replace(/[^\p{L}]/gu, "");
  const first = letters.charAt(0);
  if (first === first.toLowerCase()) return "lower";
  return letters.length > 1 && letters === letters.toUpperCase() ? "upper" : "capital";
}
