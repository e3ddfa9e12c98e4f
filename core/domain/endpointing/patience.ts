import { MOST_PATIENCE } from "./endpointer.js";

/** Probabilities of a sentence end below which the speaker is taken to hesitate. */
const HARDLY_AN_END = 0.02;
const RARELY_AN_END = 0.05;

/**
 * Returns how many thresholds a pause may last after a text. Of 1,211 held-out sentences 4 % end where an end is
 * hardly possible and 4 % more where it is rare; of the words inside them 64 % and 13 % are followed by such places.
 *
 * @param endProbability that a sentence ends with the text
 */
export function patienceAfter(endProbability: number): number {
  if (endProbability < HARDLY_AN_END) return MOST_PATIENCE;
  return endProbability < RARELY_AN_END ? 2 : 1;
}
