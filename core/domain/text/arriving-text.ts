import { splitIntoSentences } from "./sentences.js";

/** Without an end of a sentence, text is cut at a space before this many UTF-16 units. */
export const LONGEST_OPEN_SENTENCE = 1_000;
/** A word must follow an end, since abbreviations and direct speech are known by what follows them. */
const LOOKAHEAD = 40;
const END = /[.!?…\n]/u;
/** Letters, figures, and signs that are read as words. */
const SPEECH = /[\p{L}\p{N}\p{Sc}\p{Sm}%№°&@#§]/u;
/** Stand for what may follow a mark: a sentence, or a number after an abbreviation. */
const PROBES = ["Мен барамын.", "12 сан."];

type GoesOn = (before: string, after: string) => boolean;

/**
 * Cuts the first sentence off a text that arrives in pieces.
 *
 * A sentence is complete when the next word is, or when the text stops after its mark and a space, as with
 * clients that send whole sentences. Whatever the cut of the pieces, a sentence is complete at the latest
 * when its successor is.
 *
 * @param isWhole whether no more text follows, so that the last sentence is complete
 * @returns the sentence with the white space after it; null while there is none
 */
export function firstSentence(text: string, isWhole: boolean, goesOn?: GoesOn): string | null {
  const window = text.slice(0, LONGEST_OPEN_SENTENCE + LOOKAHEAD);
  const isCut = window.length < text.length;
  const speechAt = window.search(SPEECH);
  if (speechAt < 0 || !END.test(window.slice(speechAt))) return isWhole && !isCut ? text : cutAtSpace(text);
  // Marks and emoji belong to the sentence after them, so that none is spoken alone.
  const [spoken = "", ...others] = splitIntoSentences(window.slice(speechAt), goesOn);
  const first = window.slice(0, speechAt) + spoken;
  if (first.length > LONGEST_OPEN_SENTENCE) return cutAtSpace(text);
  if (isWhole && !isCut) return first;
  if (others.length > 0) return isCertain(window.slice(first.length)) ? first : null;
  return endsForSure(first, goesOn) ? first : null;
}

/** Whether what follows an end is long enough to know that it is one. */
function isCertain(after: string): boolean {
  return after.length >= LOOKAHEAD || /[\p{L}\d]\S{0,3}\s/u.test(after);
}

/** Whether the text ends a sentence with a mark and white space, whatever follows. */
function endsForSure(text: string, goesOn?: GoesOn): boolean {
  // After direct speech, and after three dots, a sentence may go on.
  if (!/[^.][.!?]\s+$/u.test(text) || /^\s*[—–-]/u.test(text)) return false;
  return PROBES.every((probe) => splitIntoSentences(text + probe, goesOn)[0] === text);
}

function cutAtSpace(text: string): string | null {
  if (text.length <= LONGEST_OPEN_SENTENCE) return null;
  const space = text.lastIndexOf(" ", LONGEST_OPEN_SENTENCE);
  if (space > 0) return text.slice(0, space + 1);
  // Not between the halves of a surrogate pair.
  const isSplit = /[\ud800-\udbff]/.test(text[LONGEST_OPEN_SENTENCE - 1]!);
  return text.slice(0, LONGEST_OPEN_SENTENCE - (isSplit ? 1 : 0));
}
