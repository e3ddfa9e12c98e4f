import { countCharacterEdits, countWordEdits, type ScoredPair } from "../../core/domain/text/error-rate.js";

/** Error rates of a corpus; above 1 if a hypothesis is much longer than its reference. */
export interface ErrorRates {
  readonly characterErrorRate: number;
  readonly wordErrorRate: number;
  readonly pairs: number;
  readonly characters: number;
  readonly words: number;
}

/**
 * Character and word error rates over a corpus: the sum of edits over the sum of reference lengths, so that
 * long sentences weigh more than short ones. Texts are normalised here; spaces count as characters.
 */
export function errorRates(pairs: Iterable<ScoredPair>): ErrorRates {
  let pairCount = 0;
  let characterEdits = 0;
  let characters = 0;
  let wordEdits = 0;
  let words = 0;
  for (const pair of pairs) {
    const byCharacter = countCharacterEdits(pair);
    const byWord = countWordEdits(pair);
    pairCount++;
    characterEdits += byCharacter.edits;
    characters += byCharacter.length;
    wordEdits += byWord.edits;
    words += byWord.length;
  }
  return {
    characterErrorRate: rate(characterEdits, characters),
    wordErrorRate: rate(wordEdits, words),
    pairs: pairCount,
    characters,
    words,
  };
}

/** With an empty reference each edit counts as a rate of one; two empty texts are no error. */
function rate(edits: number, length: number): number {
  return edits / Math.max(1, length);
}
