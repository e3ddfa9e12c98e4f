import type { Punctuation } from "../../core/domain/text/display/marks.js";

/** Restores punctuation and capitals of transcripts. Runs one text at a time. */
export interface PunctuationModel {
  /**
   * Reads a text of any length.
   *
   * @param words lower case
   * @param pauses seconds after each word, -1 where unknown; models may ignore them
   * @param begun what `readStretch` returned for stretches of the text, by their numbers
   */
  read(
    words: readonly string[],
    pauses?: Float32Array | null,
    begun?: readonly (Punctuation | undefined)[],
  ): Promise<Punctuation>;
  /** Reads a stretch (`text-windows.ts`) of a text that is not complete yet; absent where that is impossible. */
  readStretch?(words: readonly string[], pauses: Float32Array | null): Promise<Punctuation>;
  release(): Promise<void>;
}
