import { allGrammars } from "../russian/declension.js";
import { findAt } from "../russian/normalize.js";
import { canonical } from "./russian-words.js";

const WORDS_BEFORE = 2;
const WORDS_AFTER = 3;
/** "One" is optional before a scale: "один миллион", "миллион". */
const SAID_ONE =
  /(?<!\p{L})(?:один|одна|одного|одной|одному|одним|одном|одну) (?=тысяч|миллион|миллиард|триллион)/gu;
/** The joint of "две целых и три сотых". */
const AND_A_FRACTION = /(?<!\p{L})(цел\p{L}{2,3}) и (?=\p{L})/gu;

/**
 * Returns true if a written form, in its context, has a grammatical reading that equals the words [first,
 * end).
 *
 * Tries every case and gender, because speakers choose them by more context than the normalizer sees.
 */
export function acceptsRussian(words: readonly string[], first: number, end: number, form: string): boolean {
  const before = words
    .slice(Math.max(0, first - WORDS_BEFORE), first)
    .map((word) => `${word} `)
    .join("");
  const after = words
    .slice(end, end + WORDS_AFTER)
    .map((word) => ` ${word}`)
    .join("");
  const found = findAt(`${before}${form}${after}`, before.length);
  if (found === null || found.next !== before.length + form.length) return false;
  const said = comparable(words.slice(first, end).join(" "));
  return allGrammars().some((grammar) => {
    const spoken = found.say(grammar);
    return spoken !== null && comparable(spoken) === said;
  });
}

/** Reduces words to their letters, in one canonical spelling. */
function comparable(spoken: string): string {
  const words = spoken.toLowerCase().match(/\p{L}+/gu) ?? [];
  return words.map(canonical).join(" ").replace(SAID_ONE, "").replace(AND_A_FRACTION, "$1 ");
}
