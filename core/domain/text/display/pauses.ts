/**
 * Word times end with the letters that a recogniser emits, so gaps follow even most words spoken without a
 * break.
 */
const SHORTEST_PAUSE_SECONDS = 0.2;

interface Timed {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the pause after each word in seconds, in the form the punctuation model expects: 0 for gaps below
 * 0.2 s, -1 after the last word.
 */
export function pausesAfter(words: readonly Timed[]): Float32Array {
  return Float32Array.from(words, ({ end }, at) => {
    const next = words[at + 1];
    return next === undefined ? -1 : pauseOf(next.start - end);
  });
}

/** Converts a gap between words to a pause, both in seconds. */
export function pauseOf(gap: number): number {
  return gap < SHORTEST_PAUSE_SECONDS ? 0 : gap;
}
