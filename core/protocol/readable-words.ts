/** How a client of Deepgram's interface wants its text. */
export interface ReadableWishes {
  /** `punctuate` or `smart_format`. */
  readonly punctuate: boolean;
  /** `numerals` or `smart_format`. */
  readonly numerals: boolean;
}

/**
 * Returns each word as readers want it: with its marks, capitals and figures. The recogniser writes plain
 * words so far, so these are the same; transcripts of Deepgram's interface all pass here.
 */
export function readableWords(words: readonly string[], _wishes: ReadableWishes): readonly string[] {
  return words;
}
