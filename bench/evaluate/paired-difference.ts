import { bootstrapRate } from "../../core/domain/statistics/bootstrap.js";
import { countWordEdits } from "../../core/domain/text/error-rate.js";

/** One reference and two recognisers' transcripts of the same audio. */
export interface PairedTexts {
  readonly reference: string;
  readonly candidate: string;
  readonly baseline: string;
}

/**
 * A difference of error rates (0.01 is one percentage point); positive if the candidate makes more errors.
 */
export interface RateDifference {
  readonly difference: number;
  /** 95 % confidence interval over recordings. */
  readonly low: number;
  readonly high: number;
}

/**
 * Word error rate of the candidate minus that of the baseline over the same recordings, with the interval of
 * a paired bootstrap: recordings are drawn with replacement, so that one that is hard for both favours
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
