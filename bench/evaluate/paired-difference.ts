import { uniformRandom } from "../support/uniform-random.js";
import { countWordEdits } from "./error-rate.js";

/** One reference and what two recognisers made of the same audio. */
export interface PairedTexts {
  readonly reference: string;
  readonly candidate: string;
  readonly baseline: string;
}

/** A difference of error rates, 0.01 being a point; positive when the candidate makes more errors. */
export interface RateDifference {
  readonly difference: number;
  /** 95 % of what other recordings of the same kind would have given. */
  readonly low: number;
  readonly high: number;
}

const RESAMPLINGS = 2_000;
const SEED = 1;

/**
 * Word error rate of the candidate minus that of the baseline over the same recordings, with the interval of a paired bootstrap:
 * recordings are drawn with replacement, so that what is hard for both counts for neither. The same texts give the same interval.
 * @see Bisani and Ney, "Bootstrap estimates for confidence intervals in ASR performance evaluation", 2004.
 */
export function wordErrorDifference(pairs: readonly PairedTexts[]): RateDifference {
  const extraEdits: number[] = [];
  const words: number[] = [];
  for (const { reference, candidate, baseline } of pairs) {
    const ours = countWordEdits({ reference, hypothesis: candidate });
    extraEdits.push(ours.edits - countWordEdits({ reference, hypothesis: baseline }).edits);
    words.push(ours.length);
  }
  const everyOne = pairs.map((_, index) => index);
  const random = uniformRandom(SEED);
  const drawn = Array.from({ length: RESAMPLINGS }, () =>
    rateOver(
      everyOne.map(() => Math.floor(random() * pairs.length)),
      extraEdits,
      words,
    ),
  ).toSorted((a, b) => a - b);
  return {
    difference: rateOver(everyOne, extraEdits, words),
    low: drawn[Math.floor(0.025 * RESAMPLINGS)]!,
    high: drawn[Math.floor(0.975 * RESAMPLINGS)]!,
  };
}

function rateOver(
  indices: readonly number[],
  extraEdits: readonly number[],
  words: readonly number[],
): number {
  let edits = 0;
  let length = 0;
  for (const index of indices) {
    edits += extraEdits[index]!;
    length += words[index]!;
  }
  return edits / Math.max(1, length);
}
