/**
 * Marks that the model writes after a word, in the order of its output; a hyphen joins it to the next word.
 */
export const MARKS = ["", ",", ".", "?", "-", "—", ":"] as const;
export type Mark = (typeof MARKS)[number];
/** A mark that ends a sentence. */
export type Stop = "." | "?";

/** Cases of a word, in the order of the model's output. */
const CASES = ["lower", "capital", "upper"] as const;
export type Case = (typeof CASES)[number];

/** The punctuation model's output for each word of a text. */
export interface Punctuation {
  readonly marks: readonly Mark[];
  readonly cases: readonly Case[];
  /** The mark after each word if a sentence ends there. */
  readonly stops: readonly Stop[];
  /** Words with inner capitals or full stops, null for other words; if absent, `cases` describe all words. */
  readonly spellings?: readonly (string | null)[];
}

/**
 * Chooses marks and cases from the model's logits.
 *
 * @param markLogits words × marks
 * @param caseLogits words × cases
 */
export function decidePunctuation(markLogits: Float32Array, caseLogits: Float32Array): Punctuation {
  const count = markLogits.length / MARKS.length;
  const marks: Mark[] = [];
  const cases: Case[] = [];
  const stops: Stop[] = [];
  const [dot, question] = [MARKS.indexOf("."), MARKS.indexOf("?")];
  for (let word = 0; word < count; word++) {
    const at = word * MARKS.length;
    marks.push(best(MARKS, markLogits, at));
    stops.push(markLogits[at + question]! > markLogits[at + dot]! ? "?" : ".");
    cases.push(best(CASES, caseLogits, word * CASES.length));
  }
  return { marks, cases, stops };
}

function best<Name extends string>(names: readonly Name[], logits: Float32Array, at: number): Name {
  let [found, highest] = [names[0]!, Number.NEGATIVE_INFINITY];
  for (const [nth, name] of names.entries()) {
    const logit = logits[at + nth]!;
    if (logit > highest) [found, highest] = [name, logit];
  }
  return found;
}
