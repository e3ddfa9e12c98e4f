import { isRussianSentence } from "./script.js";
import { splitIntoSentences } from "./sentences.js";

/** What a caller should know about a text that is spoken all the same. Stable names. */
export type TextNote = "russian_text";

/** More is not looked at: a text that is Russian is so before. */
const LOOKED_AT_CHARACTERS = 5_000;

/**
 * Notes on a text that a Kazakh voice is to speak.
 *
 * `russian_text`: at least one of its sentences is Russian by most of its words, and will be said with Kazakh sounds.
 */
export function textNotes(text: string): TextNote[] {
  const sentences = splitIntoSentences(text.slice(0, LOOKED_AT_CHARACTERS));
  return sentences.some(isRussianSentence) ? ["russian_text"] : [];
}
