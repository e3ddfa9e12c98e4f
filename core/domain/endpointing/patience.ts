/**
 * Whether the length of a pause is limited by the threshold alone, or also by how likely the sentence ends
 * there.
 */
export const ENDPOINTINGS = ["fixed", "adaptive"] as const;
export type Endpointing = (typeof ENDPOINTINGS)[number];

/** Maximum length of a pause, in thresholds. */
export const MOST_PATIENCE = 3;

/**
 * Returns how many thresholds a pause may last, at most `MOST_PATIENCE`; called once the threshold has
 * passed.
 */
export type Patience = () => number;

/** Below the first probability a sentence end is hardly possible, below the second it is rare. */
const HARDLY_AN_END = 0.02;
const RARELY_AN_END = 0.05;

/**
 * Returns how many thresholds a pause may last after a text. Of 1,211 held-out sentences, 4 % end where an
 * end is hardly possible, and another 4 % where it is rare. Inside sentences, 64 % and 13 % of the words are
 * followed by such places.
 * @param endProbability probability that a sentence ends with the text
 */
export function patienceAfter(endProbability: number): number {
  if (endProbability < HARDLY_AN_END) return MOST_PATIENCE;
  return endProbability < RARELY_AN_END ? 2 : 1;
}
