import { endedName } from "./latin.js";
import { LOWER } from "./letters.js";
import { matchAt, type Reading, WORD_END } from "./reading.js";

/** A word or phrase as `prepare` leaves it, with single spaces, and how it is said in the characters of a voice. */
export interface DictionaryEntry {
  readonly word: string;
  readonly spoken: string;
}

/** A word of the dictionary, found at `at`. */
export interface DictionaryReading extends Reading {
  readonly at: number;
}

/** The case ending, or the word, that a hyphen ties to a name: "Kaspi-ге". */
const ENDING = new RegExp(`-([${LOWER}]+)${WORD_END}`, "uy");

/** Words with a reading of their own, which no rule may overrule: whole words, in any case, the longest first. */
export class PronunciationDictionary {
  readonly #spoken: ReadonlyMap<string, string>;
  readonly #pattern: RegExp;

  /** @param entries at least one, no word twice */
  constructor(entries: readonly DictionaryEntry[]) {
    this.#spoken = new Map(entries.map(({ word, spoken }) => [word.toLowerCase(), spoken]));
    const longestFirst = entries.map(({ word }) => word).toSorted((a, b) => b.length - a.length);
    this.#pattern = new RegExp(longestFirst.map(wholeWord).join("|"), "giu");
  }

  /** How one word is said that stands by itself. */
  spokenName(word: string): string | undefined {
    return this.#spoken.get(word.toLowerCase());
  }

  /** Its words in a prepared text, in order, with the endings that hyphens tie to them. */
  find(text: string): DictionaryReading[] {
    const found: DictionaryReading[] = [];
    let from = 0;
    for (const match of text.matchAll(this.#pattern)) {
      const at = match.index;
      const spoken = this.#spoken.get(match[0].toLowerCase().replace(/\s+/g, " "));
      if (spoken === undefined || at < from) continue;
      const end = at + match[0].length;
      const ending = matchAt(ENDING, text, end);
      from = end + (ending?.[0].length ?? 0);
      found.push({ at, next: from, spoken: ending === null ? spoken : endedName(spoken, ending[1]!) });
    }
    return found;
  }
}

/** The dictionary of a request, if it has words. */
export function dictionaryOf(entries: readonly DictionaryEntry[] = []): PronunciationDictionary | undefined {
  return entries.length === 0 ? undefined : new PronunciationDictionary(entries);
}

/** No letter or digit beside it, and a number not as a part of another: 5 is not in "1,5". */
function wholeWord(word: string): string {
  const source = word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replaceAll(" ", "\\s+");
  const before = /^\d/.test(word)
    ? "(?<![\\p{L}\\p{M}\\d]|\\d[.,:])"
    : /^\p{L}/u.test(word)
      ? "(?<![\\p{L}\\p{M}\\d])"
      : "";
  const after = /\d$/.test(word)
    ? "(?![\\p{L}\\p{M}\\d]|[.,:]\\d)"
    : /\p{L}$/u.test(word)
      ? "(?![\\p{L}\\p{M}\\d])"
      : "";
  return before + source + after;
}
