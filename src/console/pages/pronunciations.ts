import type { SpeechRequest } from "../../client/browser.js";

type Pronunciation = NonNullable<SpeechRequest["pronunciations"]>[number];

export interface WrittenPronunciations {
  readonly entries: readonly Pronunciation[];
  /** Number of the first line without a word or a pronunciation, from 1; null if there is none. */
  readonly brokenLine: number | null;
}

/** Parses lines such as "Kaspi = каспи"; skips empty lines. */
export function readPronunciations(written: string): WrittenPronunciations {
  const entries: Pronunciation[] = [];
  let brokenLine: number | null = null;
  for (const [index, line] of written.split("\n").entries()) {
    if (line.trim() === "") continue;
    const at = line.indexOf("=");
    const word = line.slice(0, Math.max(0, at)).trim();
    const say = line.slice(at + 1).trim();
    if (word === "" || say === "") brokenLine ??= index + 1;
    else entries.push({ word, say });
  }
  return { entries, brokenLine };
}
