/** Rows of the punctuation model's table of hashed word pieces. */
const BUCKETS = 40_000;
const AFFIX_LETTERS = 4;
const LONGEST = 12;

/** Features of a word: itself, its first and last one to four letters, and its length. */
export const WORD_FEATURES = 2 + 2 * AFFIX_LETTERS;

/** Writes a lower-case word's {@link WORD_FEATURES} rows of the table to `out` at `at`; "ё" counts as "е". */
export function writeWordFeatures(spoken: string, out: Int32Array, at: number): void {
  const word = spoken.replaceAll("ё", "е");
  let next = at;
  out[next++] = bucketOf(`w${word}`);
  for (let letters = 1; letters <= AFFIX_LETTERS; letters++)
    out[next++] = bucketOf(`p${word.slice(0, letters)}`);
  for (let letters = 1; letters <= AFFIX_LETTERS; letters++)
    out[next++] = bucketOf(`s${word.slice(-letters)}`);
  out[next] = bucketOf(`n${Math.min(word.length, LONGEST)}`);
}

/** FNV-1a over UTF-16 code units, as the recipe computes it. */
function bucketOf(piece: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < piece.length; at++) hash = Math.imul(hash ^ piece.charCodeAt(at), 0x01000193) >>> 0;
  return hash % BUCKETS;
}
