import { prepare } from "./kazakh/prepare.js";
import { isRussianSentence } from "./script.js";
import { splitIntoSentences } from "./sentences.js";

/** Notes to the caller about a text that is spoken nevertheless. Stable names. */
export type TextNote = "dropped_characters" | "russian_text";

const CHECKED_CHARACTERS = 5_000;
/** Characters whose loss is inaudible: spaces, soft hyphens, combining marks, letter apostrophes. */
const INAUDIBLE = /^[\p{C}\p{M}\p{Z}\p{Lm}]$/u;

/**
 * Returns notes on a text for a Kazakh voice.
 *
 * `russian_text`: at least one sentence is mostly Russian, and will be spoken with Kazakh sounds.
 * `dropped_characters`: characters that cannot be spoken, such as emoji and other scripts, are left out.
 */
export function textNotes(text: string): TextNote[] {
  const checked = text.slice(0, CHECKED_CHARACTERS);
  const notes: TextNote[] = [];
  if (splitIntoSentences(checked).some(isRussianSentence)) notes.push("russian_text");
  if (dropsCharacters(checked)) notes.push("dropped_characters");
  return notes;
}

function dropsCharacters(text: string): boolean {
  return prepare(text).dropped.some((at) => !INAUDIBLE.test(String.fromCodePoint(text.codePointAt(at) ?? 0)));
}
