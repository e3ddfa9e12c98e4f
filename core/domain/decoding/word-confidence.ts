import type { CtcAlignment } from "./ctc-alignment.js";
import type { Hypotheses } from "./prefix-beam-search.js";
import { textOf } from "./words.js";

/** Texts this much less likely than the best one, natural log, are ignored. */
const MARGIN = 10;

/**
 * Computes the confidence of each word, 0 to 1: its share of the beam times the square root of its acoustic
 * clarity.
 *
 * The share sums the probabilities of the texts with the word in its place: it accounts for alternatives, as
 * far as the beam has them. The clarity, the geometric mean of the best frames of its letters and of the
 * spaces around it, shows where the language model overruled the acoustics. Together they separate correct
 * from wrong words better than either alone (`bench/evaluate/confidence.ts`); the root keeps the product near
 * the share of words that are right.
 * @see Wessel et al., 2001, "Confidence Measures for Large Vocabulary Continuous Speech Recognition", for the
 * first part.
 */
export function wordConfidences(
  hypotheses: Hypotheses,
  alignment: CtcAlignment,
  vocabulary: readonly string[],
): number[] {
  const best = wordsOf(hypotheses[0].tokens, vocabulary);
  const shares = sharesOf(best, hypotheses, vocabulary);
  const clarities = claritiesOf(alignment, vocabulary);
  return shares.map((share, i) => Math.round(share * Math.sqrt(clarities[i]!) * 1_000) / 1_000);
}

/** For each word, the probability of the beam's texts that have it in this place, as a share of all. */
function sharesOf(best: readonly string[], hypotheses: Hypotheses, vocabulary: readonly string[]): number[] {
  const sums = new Array<number>(best.length).fill(0);
  let total = 0;
  for (const { tokens, score } of hypotheses) {
    const difference = hypotheses[0].score - score;
    if (!(difference <= MARGIN)) break;
    const weight = Math.exp(-difference);
    total += weight;
    for (const i of commonWords(best, wordsOf(tokens, vocabulary))) sums[i]! += weight;
  }
  return sums.map((sum) => sum / total);
}

/** Indices of the words of `best` that an alignment with the fewest edits matches with `other`. */
export function commonWords(best: readonly string[], other: readonly string[]): number[] {
  const shorter = Math.min(best.length, other.length);
  let head = 0;
  while (head < shorter && best[head] === other[head]) head++;
  let tail = 0;
  while (tail < shorter - head && best.at(-1 - tail) === other.at(-1 - tail)) tail++;
  const common = Array.from({ length: head }, (_, i) => i);
  for (let i = best.length - tail; i < best.length; i++) common.push(i);
  // Texts of one beam mostly differ in a word or two, so the rest is short.
  const inner = longestCommon(best.slice(head, best.length - tail), other.slice(head, other.length - tail));
  for (const i of inner) common.push(head + i);
  return common;
}

/** Indices in `a` of the matches of an alignment of `a` and `b` with the fewest edits. */
function longestCommon(a: readonly string[], b: readonly string[]): number[] {
  const width = b.length + 1;
  const edits = new Uint32Array((a.length + 1) * width);
  for (let j = 0; j < width; j++) edits[j] = j;
  for (let i = 1; i <= a.length; i++) {
    edits[i * width] = i;
    for (let j = 1; j < width; j++) {
      const change = edits[(i - 1) * width + j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const skip = Math.min(edits[(i - 1) * width + j]!, edits[i * width + j - 1]!) + 1;
      edits[i * width + j] = Math.min(change, skip);
    }
  }
  const matches: number[] = [];
  for (let i = a.length, j = b.length; i > 0 && j > 0; ) {
    const isEqual = a[i - 1] === b[j - 1];
    const here = edits[i * width + j]!;
    if (here === edits[(i - 1) * width + j - 1]! + (isEqual ? 0 : 1)) {
      if (isEqual) matches.push(i - 1);
      i--;
      j--;
    } else if (here === edits[(i - 1) * width + j]! + 1) i--;
    else j--;
  }
  return matches;
}

/** For each word, the geometric mean of its letters' and adjacent spaces' best probabilities. */
function claritiesOf({ tokens, bestLogProbs }: CtcAlignment, vocabulary: readonly string[]): number[] {
  const clarities: number[] = [];
  const isSpace = (i: number) => vocabulary[tokens[i]!] === " ";
  const beginsWord = (i: number) => vocabulary[tokens[i]!]!.startsWith(" ");
  for (let i = 0; i < tokens.length; i++) {
    if (isSpace(i)) continue;
    let letters = vocabulary[tokens[i]!]!.trimStart();
    let end = i + 1;
    for (; end < tokens.length && !beginsWord(end); end++) letters += vocabulary[tokens[end]!]!;
    const first = i > 0 && isSpace(i - 1) ? i - 1 : i;
    const last = end < tokens.length && isSpace(end) ? end : end - 1;
    let sum = 0;
    for (let at = first; at <= last; at++) sum += bestLogProbs[at]!;
    if (letters !== "") clarities.push(Math.exp(sum / (last - first + 1)));
    i = end - 1;
  }
  return clarities;
}

function wordsOf(tokens: ArrayLike<number>, vocabulary: readonly string[]): string[] {
  const text = textOf(tokens, vocabulary);
  return text === "" ? [] : text.split(" ");
}
