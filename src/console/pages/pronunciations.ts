import type { SpeechRequest } from "../../client/browser.js";

type Pronunciation = NonNullable<SpeechRequest["pronunciations"]>[number];

export interface WrittenPronunciations {
  readonly entries: readonly Pronunciation[];
  /** Number of each entry's line, from 1. */
  readonly lines: readonly number[];
  /** Number of the first line without a word or a pronunciation, from 1; null if there is none. */
  readonly brokenLine: number | null;
}

/** Parses lines such as "Kaspi = каспи"; skips empty lines. */
export function readPronunciations(written: string): WrittenPronunciations {
  const entries: Pronunciation[] = [];
  const lines: number[] = [];
  let brokenLine: number | null = null;
  for (const [index, line] of written.split("\n").entries()) {
    const text = inOneLine(line);
    if (text === "") continue;
    const at = separatorIn(text);
    const word = text.slice(0, Math.max(0, at)).trim();
    const say = text.slice(at + 1).trim();
    if (word === "" || say === "") brokenLine ??= index + 1;
    else {
      entries.push({ word, say });
      lines.push(index + 1);
    }
  }
  return { entries, lines, brokenLine };
}

/** Writes entries as lines, which `readPronunciations` parses again. */
export function writePronunciations(entries: readonly Pronunciation[]): string {
  return entries.map(({ word, say }) => `${inOneLine(word)} = ${unspaced(inOneLine(say))}`).join("\n");
}

/** Words such as "E=mc2" contain the sign too, so the last one between spaces counts, if there is one. */
function separatorIn(line: string): number {
  const spaced = line.lastIndexOf(" = ");
  return spaced === -1 ? line.indexOf("=") : spaced + 1;
}

function unspaced(say: string): string {
  return say.replace(/ ?= ?/g, "=");
}

/** The service reads any white space as one space. */
export function inOneLine(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
