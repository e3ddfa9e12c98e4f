/**
 * Number of words in a window, and the number of them that the next window repeats: results are taken from
 * the middle. The network was trained on a few sentences at a time: with 200 words, full stops of long Kazakh
 * texts lose 2.6 points of F1.
 */
export const WINDOW_WORDS = 80;
export const OVERLAP_WORDS = 20;
const STRIDE_WORDS = WINDOW_WORDS - OVERLAP_WORDS;
/** Number of windows that are read together, which takes little more than half of the time. */
const WINDOWS_PER_STRETCH = 4;
const STRETCH_STRIDE_WORDS = WINDOWS_PER_STRETCH * STRIDE_WORDS;
/** Number of words in a stretch; the next one repeats as many as windows do. */
export const STRETCH_WORDS = STRETCH_STRIDE_WORDS + OVERLAP_WORDS;

/** Words [first, end) of a text. */
export type WordSpan = readonly [first: number, end: number];

/**
 * Cuts a text of any length into stretches. Only the last one, which ends with the text, depends on the
 * length: the others can be read before it is known.
 */
export function stretchesOf(words: number): readonly WordSpan[] {
  const count = Math.max(1, Math.ceil((words - OVERLAP_WORDS) / STRETCH_STRIDE_WORDS));
  return Array.from({ length: count }, (_, nth) => {
    const first = nth * STRETCH_STRIDE_WORDS;
    if (nth < count - 1) return [first, first + STRETCH_WORDS];
    return [Math.max(0, Math.min(first, words - WINDOW_WORDS)), words];
  });
}

/** Returns the nth stretch of a text of which `words` words are known, if it is certain not to be the last. */
export function certainStretch(nth: number, words: number): WordSpan | null {
  const first = nth * STRETCH_STRIDE_WORDS;
  return first + STRETCH_WORDS < words ? [first, first + STRETCH_WORDS] : null;
}

/** Cuts a stretch into windows of equal length, the last of which ends with it. */
export function windowsOf(words: number): readonly WordSpan[] {
  if (words <= WINDOW_WORDS) return [[0, words]];
  const count = Math.ceil((words - OVERLAP_WORDS) / STRIDE_WORDS);
  return Array.from({ length: count }, (_, nth) => {
    const first = Math.min(nth * STRIDE_WORDS, words - WINDOW_WORDS);
    return [first, first + WINDOW_WORDS];
  });
}
