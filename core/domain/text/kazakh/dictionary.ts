import { endedName } from "./latin.js";
import { LOWER } from "./letters.js";
import { matchAt, type Reading, WORD_END } from "./reading.js";

/** A word or phrase after `prepare`, with single spaces, and its reading in the characters of a voice. */
export interface DictionaryEntry {
  readonly word: string;
  readonly spoken: string;
}

/** Most pronunciations of a request. */
export const MOST_PRONUNCIATIONS = 100;

/** A word of the dictionary, found at `at`. */
export interface DictionaryReading extends Reading {
  readonly at: number;
}

/** A node of the tree of words, with the reading of the word that ends here. */
interface Node {
  readonly next: Map<string, Node>;
  spoken: string | null;
}

/** A case ending or word after a hyphen: "Kaspi-ге". */
const ENDING = new RegExp(`-([${LOWER}]+)${WORD_END}`, "uy");
const WORD_UNIT = /[\p{L}\p{M}\d]/u;

/**
 * A request's pronunciations, which precede all rules: whole words, in any case, the longest first. Uses a
 * tree because a pattern of a hundred alternatives takes seconds for words with a common prefix.
 */
export class PronunciationDictionary {
  readonly #root: Node = { next: new Map(), spoken: null };

  /** @param entries without duplicates */
  constructor(entries: readonly DictionaryEntry[]) {
    for (const { word, spoken } of entries) {
      let node = this.#root;
      for (const unit of folded(word)) {
        const next = node.next.get(unit) ?? { next: new Map(), spoken: null };
        node.next.set(unit, next);
        node = next;
      }
      node.spoken = spoken;
    }
  }

  /** Returns the reading of a single word. */
  spokenName(word: string): string | undefined {
    let node: Node | undefined = this.#root;
    for (const unit of folded(word)) node = node?.next.get(unit);
    return node?.spoken ?? undefined;
  }

  /** Finds the dictionary's words in a prepared text, in order, with endings after a hyphen. */
  find(text: string): DictionaryReading[] {
    const units = folded(text);
    const found: DictionaryReading[] = [];
    for (let at = 0; at < units.length; at++) {
      const longest = isBegin(units, at) ? this.#longestAt(units, at) : null;
      if (longest === null) continue;
      const ending = matchAt(ENDING, text, longest.next);
      found.push({
        at,
        next: longest.next + (ending?.[0].length ?? 0),
        spoken: ending === null ? longest.spoken : endedName(longest.spoken, ending[1]!),
      });
      at = found.at(-1)!.next - 1;
    }
    return found;
  }

  #longestAt(units: string, at: number): Reading | null {
    let longest: Reading | null = null;
    let node = this.#root.next.get(units[at]!);
    for (let next = at + 1; node !== undefined; ) {
      // A phrase may contain any white space.
      if (units[next - 1] === " ") while (units[next] === " ") next++;
      if (node.spoken !== null && isEnd(units, next)) longest = { spoken: node.spoken, next };
      node = node.next.get(units[next++] ?? "");
    }
    return longest;
  }
}

/** Returns the dictionary of a request, if it has entries. */
export function dictionaryOf(entries: readonly DictionaryEntry[] = []): PronunciationDictionary | undefined {
  return entries.length === 0 ? undefined : new PronunciationDictionary(entries);
}

/** Folds a text for comparison, unit by unit: lower case, and a space for every white space. */
function folded(text: string): string {
  const lower = text.toLowerCase();
  // Positions must not change; no letter after `prepare` becomes two.
  return (lower.length === text.length ? lower : text).replace(/\s/g, " ");
}

/** Whether a word may begin here: not inside a word, nor inside another number ("5" is not in "1,5"). */
function isBegin(units: string, at: number): boolean {
  const before = units[at - 1] ?? "";
  if (!WORD_UNIT.test(units[at]!)) return true;
  if (WORD_UNIT.test(before)) return false;
  return !(isDigit(units[at]) && isPoint(before) && isDigit(units[at - 2]));
}

function isEnd(units: string, end: number): boolean {
  const after = units[end] ?? "";
  if (!WORD_UNIT.test(units[end - 1]!)) return true;
  if (WORD_UNIT.test(after)) return false;
  return !(isDigit(units[end - 1]) && isPoint(after) && isDigit(units[end + 1]));
}

function isDigit(unit: string | undefined): boolean {
  return unit !== undefined && unit >= "0" && unit <= "9";
}

function isPoint(unit: string): boolean {
  return unit === "." || unit === "," || unit === ":";
}
