import type { PronunciationDictionary } from "./dictionary.js";
import { normalizeKazakh } from "./normalize.js";
import { prepare } from "./prepare.js";

/** A word of a dictionary as it is looked up; empty when it has nothing that could be found in a text. */
export function soughtWord(word: string): string {
  const { text } = prepare(word).mapped;
  const sought = text.replace(/\s+/g, " ").replace(/^[ ,]+|(?<![ ,])[ ,]+$/g, "");
  return /[^ ,.!?:;—-]/.test(sought) ? sought : "";
}

/** How a pronunciation is said: words without marks, so that it may stand anywhere; empty when it is nothing. */
export function spokenPronunciation(say: string): string {
  const { spoken } = normalizeKazakh(say, { expand: true });
  return spoken.match(/[^ ,.!?:;—]+/g)?.join(" ") ?? "";
}

/** By how many characters a dictionary makes a text longer. */
export function growthBy(dictionary: PronunciationDictionary, text: string): number {
  return dictionary
    .find(prepare(text).mapped.text)
    .reduce((sum, { at, next, spoken }) => sum + spoken.length - (next - at), 0);
}
