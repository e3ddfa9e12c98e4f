import { bootstrapRate } from "./bootstrap.js";
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

/**
 * Word error rate of the candidate minus that of the baseline over the same recordings, with the interval of
 * a paired bootstrap: recordings are drawn with replacement, so that what is hard for both counts for
 * neither. The same texts give the same interval.
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
  const { value: difference, low, high } = bootstrapRate(extraEdits, words);
  return { difference, low, high };
}
