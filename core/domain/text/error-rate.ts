/**
 * Edits needed to turn a hypothesis into its reference, and the reference's length, both in the same units.
 */
export interface EditCount {
  readonly edits: number;
  readonly length: number;
}

/** A reference and a hypothesis to score, as written. */
export interface ScoredPair {
  readonly reference: string;
  readonly hypothesis: string;
}

/**
 * Normalizes a text for comparison: lower case, ё as е unless `keepsYo` is set (most people write е). Keeps
 * letters and digits of any script and hyphens inside words, drops all other signs, and collapses white
 * space. A dash between spaces is punctuation, a hyphen between letters is spelling.
 */
export function normalizeForScoring(text: string, { keepsYo = false } = {}): string {
  return text
    .normalize("NFC")
    .toLowerCase()
    .replaceAll("ё", keepsYo ? "ё" : "е")
    .replace(/['’ʼ]/gu, "")
    .replace(/[^\p{L}\p{N}-]+/gu, " ")
    .replace(/(?<![\p{L}\p{N}])-+|-+(?![\p{L}\p{N}])/gu, " ")
    .replace(/ {2,}/gu, " ")
    .trim();
}

/** Edits by code point. */
export function countCharacterEdits(pair: ScoredPair): EditCount {
  return countEdits([...normalizeForScoring(pair.reference)], [...normalizeForScoring(pair.hypothesis)]);
}

export function countWordEdits(pair: ScoredPair): EditCount {
  return countEdits(wordsOf(pair.reference), wordsOf(pair.hypothesis));
}

/** @see Levenshtein, 1966: insertions, deletions and substitutions cost one each. */
export function editDistance<T>(from: readonly T[], to: readonly T[]): number {
  let previous = Uint32Array.from({ length: to.length + 1 }, (_, i) => i);
  let current = new Uint32Array(to.length + 1);
  for (let i = 0; i < from.length; i++) {
    current[0] = i + 1;
    for (let j = 0; j < to.length; j++) {
      const replaced = previous[j]! + (from[i] === to[j] ? 0 : 1);
      current[j + 1] = Math.min(replaced, previous[j + 1]! + 1, current[j]! + 1);
    }
    [previous, current] = [current, previous];
  }
  return previous[to.length]!;
}

function countEdits<T>(reference: readonly T[], hypothesis: readonly T[]): EditCount {
  return { edits: editDistance(reference, hypothesis), length: reference.length };
}

function wordsOf(text: string): string[] {
  const normalized = normalizeForScoring(text);
  return normalized === "" ? [] : normalized.split(" ");
}
