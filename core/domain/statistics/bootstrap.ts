import { uniformRandom } from "./uniform-random.js";

/** A rate (0.01 is one percentage point) with its 95 % confidence interval over recordings. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

const RESAMPLINGS = 2_000;
const SEED = 1;

/**
 * Divides the sum of edits by the sum of lengths; the interval comes from a bootstrap over recordings, drawn
 * with replacement. The same numbers give the same interval.
 *
 * @param edits `[recordings]`; for a difference, the number of additional edits
 * @param lengths `[recordings]`
 * @see Bisani and Ney, "Bootstrap estimates for confidence intervals in ASR performance evaluation", 2004.
 */
export function bootstrapRate(edits: readonly number[], lengths: readonly number[]): Estimate {
  const everyOne = edits.map((_, index) => index);
  const random = uniformRandom(SEED);
  const drawn = Array.from({ length: RESAMPLINGS }, () =>
    rateOver(
      everyOne.map(() => Math.floor(random() * edits.length)),
      edits,
      lengths,
    ),
  ).toSorted((a, b) => a - b);
  return {
    value: rateOver(everyOne, edits, lengths),
    low: drawn[Math.floor(0.025 * RESAMPLINGS)]!,
    high: drawn[Math.floor(0.975 * RESAMPLINGS)]!,
  };
}

function rateOver(indices: readonly number[], edits: readonly number[], lengths: readonly number[]): number {
  let edited = 0;
  let length = 0;
  for (const index of indices) {
    edited += edits[index]!;
    length += lengths[index]!;
  }
  return edited / Math.max(1, length);
}
