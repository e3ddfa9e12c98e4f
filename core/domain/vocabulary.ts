import { type HotWord, MOST_HOT_WORDS } from "./decoding/hot-words.js";
import { countCodePoints } from "./text/code-points.js";
import {
  type DictionaryEntry,
  MOST_PRONUNCIATIONS,
  PronunciationDictionary,
} from "./text/kazakh/dictionary.js";
import { growthBy, longestGrowth } from "./text/kazakh/pronunciations.js";

/** Words that an organization stores for all of its requests, as it wrote them. */
export interface WrittenVocabulary {
  /** Each a word or phrase, or `word:2` with its score. */
  readonly hotwords: readonly string[];
  readonly pronunciations: readonly { readonly word: string; readonly say: string }[];
}

/** Words that an organization stored for all of its requests, in the forms in which requests use them. */
export interface Vocabulary {
  readonly hotWords: readonly HotWord[];
  /** Without duplicates. */
  readonly pronunciations: readonly DictionaryEntry[];
}

export const NO_VOCABULARY: Vocabulary = { hotWords: [], pronunciations: [] };

/**
 * Adds stored hot words to a request's: in order, as many as one request may have. Words that the request has,
 * and those in letters that the model lacks, are left out.
 *
 * @param alphabet letters of the model; empty if it accepts no hot words
 */
export function withStoredHotWords(
  own: readonly HotWord[],
  stored: readonly HotWord[],
  alphabet: ReadonlySet<string>,
): readonly HotWord[] {
  if (stored.length === 0 || alphabet.size === 0) return own;
  const taken = new Set(own.map(({ text }) => text));
  const added = stored.filter(({ text }) => !taken.has(text) && isSpelled(text, alphabet));
  return added.length === 0 ? own : [...own, ...added.slice(0, Math.max(0, MOST_HOT_WORDS - own.length))];
}

/** Returns whether every character of a hot word is in a model's alphabet. */
export function isSpelled(text: string, alphabet: ReadonlySet<string>): boolean {
  return [...text].every((character) => alphabet.has(character));
}

/**
 * Adds stored pronunciations to a request's: in order, as many as one request may have. Words that the request
 * has are left out, and so are all stored ones where the text would grow beyond the limit of a request.
 */
export function withStoredPronunciations(
  text: string,
  own: readonly DictionaryEntry[] = [],
  stored: readonly DictionaryEntry[] = [],
): readonly DictionaryEntry[] {
  if (stored.length === 0) return own;
  const taken = new Set(own.map(({ word }) => word.toLowerCase()));
  const added = stored.filter(({ word }) => !taken.has(word.toLowerCase()));
  const all = [...own, ...added.slice(0, Math.max(0, MOST_PRONUNCIATIONS - own.length))];
  return growthBy(new PronunciationDictionary(all), text) > longestGrowth(countCodePoints(text)) ? own : all;
}
