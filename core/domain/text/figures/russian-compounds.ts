import { compounding } from "../russian/numerals.js";
import { REST_OF_COMPOUND } from "../russian/ordinals.js";

/**
 * Numbers at the start of a word: 2 to 999, and whole thousands to 9,000. "Одно" begins words like
 * "односторонний".
 */
const BEGINNINGS: ReadonlyMap<string, number> = new Map(
  [...range(2, 999, 1), ...range(1_000, 9_000, 1_000)].map((value) => [plainOf(compounding(value)), value]),
);
const SHORTEST = 3;
const LONGEST = Math.max(...[...BEGINNINGS.keys()].map(({ length }) => length));
/** First letters of all beginnings, for a quick test. */
const HEADS = new Set([...BEGINNINGS.keys()].map((beginning) => beginning.slice(0, SHORTEST)));
/** Nouns, not adjectives: a decade, a century, a millennium. */
const PERIOD = /^(?:десяти|сто|тысяче)лети/;

/** A number and the rest of its word. */
export interface Compound {
  readonly value: number;
  readonly rest: string;
}

/** Splits words such as "тридцатипятилетний"; null for a word that does not begin with a number. */
export function compoundOf(word: string): Compound | null {
  const plain = plainOf(word);
  if (!HEADS.has(plain.slice(0, SHORTEST)) || PERIOD.test(plain)) return null;
  for (let length = Math.min(LONGEST, word.length); length >= SHORTEST; length--) {
    const value = BEGINNINGS.get(plain.slice(0, length));
    const rest = word.slice(length);
    if (value !== undefined && REST_OF_COMPOUND.test(rest)) return { value, rest };
  }
  return null;
}

function plainOf(word: string): string {
  return word.replaceAll("ё", "е");
}

function range(first: number, last: number, step: number): number[] {
  return Array.from({ length: (last - first) / step + 1 }, (_, index) => first + index * step);
}
