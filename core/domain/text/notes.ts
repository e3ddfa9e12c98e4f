import { prepare } from "./kazakh/prepare.js";
import { isRussianSentence } from "./script.js";
import { splitIntoSentences } from "./sentences.js";

/** What a caller should know about a text that is spoken all the same. Stable names. */
export type TextNote = "dropped_characters" | "russian_text";

/** More is not looked at: a text that is Russian is so before. */
const LOOKED_AT_CHARACTERS = 5_000;
/** Nobody misses these: spaces, soft hyphens and their like, marks on letters, apostrophes that are letters. */
const UNHEARD = /^[\p{C}\p{M}\p{Z}\p{Lm}]$/u;

/**
 * Notes on a text that a Kazakh voice is to speak.
 *
 * `russian_text`: at least one of its sentences is Russian by most of its words, and will be said with Kazakh sounds.
 * `dropped_characters`: it has characters without a place in Kazakh speech, such as emoji and other scripts, which are
 * left out.
 */
export function textNotes(text: string): TextNote[] {
  const looked = text.slice(0, LOOKED_AT_CHARACTERS);
  const notes: TextNote[] = [];
  if (splitIntoSentences(looked).some(isRussianSentence)) notes.push("russian_text");
  if (dropsCharacters(looked)) notes.push("dropped_characters");
  return notes;
}

function dropsCharacters(text: string): boolean {
  return prepare(text).dropped.some((at) => !UNHEARD.test(String.fromCodePoint(text.codePointAt(at) ?? 0)));
}
