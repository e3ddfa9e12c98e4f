import type { PronunciationDictionary } from "./dictionary.js";
import { normalizeKazakh } from "./normalize.js";
import { prepare } from "./prepare.js";

/** Characters that a dictionary may add to a text of any length, since only the text is billed. */
const FREE_GROWTH = 200;

/** Returns the form in which a dictionary's word is looked up; empty if no part of it can occur in a text. */
export function soughtWord(word: string): string {
  const { text } = prepare(word).mapped;
  const sought = text.replace(/\s+/g, " ").replace(/^[ ,]+|(?<![ ,])[ ,]+$/g, "");
  return /[^ ,.!?:;—-]/.test(sought) ? sought : "";
}

/** Returns a pronunciation as spoken words without marks; empty if nothing can be spoken. */
export function spokenPronunciation(say: string): string {
  const { spoken } = normalizeKazakh(say, { expand: true });
  return spoken.match(/[^ ,.!?:;—]+/g)?.join(" ") ?? "";
}

/** Returns the most characters that a dictionary may add to a text of this length. */
export function longestGrowth(characters: number): number {
  return characters + FREE_GROWTH;
}

/** Returns the number of characters that a dictionary adds to a text. */
export function growthBy(dictionary: PronunciationDictionary, text: string): number {
  return dictionary
    .find(prepare(text).mapped.text)
    .reduce((sum, { at, next, spoken }) => sum + spoken.length - (next - at), 0);
}
