import { splitIntoSentences } from "./sentences.js";

/** Text without a sentence end is cut at a space before this many UTF-16 units. */
export const LONGEST_OPEN_SENTENCE = 1_000;
/**
 * A sentence end counts only once a word follows: what follows identifies abbreviations and direct speech.
 */
const LOOKAHEAD = 40;
const END = /[.!?…\n]/u;
/** Letters, digits, and signs that are read aloud. */
const SPEECH = /[\p{L}\p{N}\p{Sc}\p{Sm}%№°&@#§]/u;
/** Stand-ins for what may follow a mark: a sentence, or a number after an abbreviation. */
const PROBES = ["Мен барамын.", "12 сан."];

type GoesOn = (before: string, after: string) => boolean;

/**
 * Cuts the first sentence off a text that arrives in pieces.
 *
 * A sentence is complete when the next word is, or when the text stops after a mark and a space, which is how
 * clients send whole sentences. However the text is chunked, a sentence is complete no later than the one
 * after it.
 * @param isWhole whether no more text follows, so that the last sentence is complete
 * @returns the sentence with the white space after it; null if none is complete
 */
export function firstSentence(text: string, isWhole: boolean, goesOn?: GoesOn): string | null {
  const window = text.slice(0, LONGEST_OPEN_SENTENCE + LOOKAHEAD);
  const isCut = window.length < text.length;
  const speechAt = window.search(SPEECH);
  if (speechAt < 0 || !END.test(window.slice(speechAt))) return isWhole && !isCut ? text : cutAtSpace(text);
  // Marks and emoji are attached to the following sentence, so that none is spoken alone.
  const [spoken = "", ...others] = splitIntoSentences(window.slice(speechAt), goesOn);
  const first = window.slice(0, speechAt) + spoken;
  if (first.length > LONGEST_OPEN_SENTENCE) return cutAtSpace(text);
  if (isWhole && !isCut) return first;
  if (others.length > 0) return isCertain(window.slice(first.length)) ? first : null;
  return endsForSure(first, goesOn) ? first : null;
}

/**
 * A clause of at least 40 characters, with the white space after it. Letters on both sides of the mark
 * exclude lists of numbers, which must be read together with what they count.
 */
const CLAUSE = /^[\s\S]{39,}?\p{L}[»”"')]*(?:[,;:]|\s[—–])\s+(?=\p{L}\S*\s)/u;

/**
 * Cuts the first clause off an incomplete sentence, so that its speech can start early. Returns null without
 * a clause that is long enough, or before the next word is complete.
 */
export function firstClause(text: string): string | null {
  return CLAUSE.exec(text.slice(0, LONGEST_OPEN_SENTENCE))?.[0] ?? null;
}

/** Whether the text after an end is long enough to confirm it. */
function isCertain(after: string): boolean {
  return after.length >= LOOKAHEAD || /[\p{L}\d]\S{0,3}\s/u.test(after);
}

/** Whether the text ends with a sentence mark and white space, regardless of what follows. */
function endsForSure(text: string, goesOn?: GoesOn): boolean {
  // A sentence may continue after direct speech and after an ellipsis.
  if (!/[^.][.!?]\s+$/u.test(text) || /^\s*[—–-]/u.test(text)) return false;
  return PROBES.every((probe) => splitIntoSentences(text + probe, goesOn)[0] === text);
}

function cutAtSpace(text: string): string | null {
  if (text.length <= LONGEST_OPEN_SENTENCE) return null;
  const space = text.lastIndexOf(" ", LONGEST_OPEN_SENTENCE);
  if (space > 0) return text.slice(0, space + 1);
  // Never splits a surrogate pair.
  const isSplit = /[\ud800-\udbff]/.test(text[LONGEST_OPEN_SENTENCE - 1]!);
  return text.slice(0, LONGEST_OPEN_SENTENCE - (isSplit ? 1 : 0));
}
