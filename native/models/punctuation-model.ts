import type { Punctuation } from "../../core/domain/text/display/marks.js";

/** Restores punctuation and capitals of transcripts. Runs one text at a time. */
export interface PunctuationModel {
  /**
   * Reads a text of any length.
   *
   * @param words lower case
   * @param pauses seconds after each word, -1 where unknown; models may ignore them
   * @param begun what `readWindow` returned for windows of the text, by their numbers
   */
  read(
    words: readonly string[],
    pauses?: Float32Array | null,
    begun?: readonly (Punctuation | undefined)[],
  ): Promise<Punctuation>;
  /** Reads a window of a text (`text-windows.ts`) that is not complete yet; absent in models with other windows. */
  readWindow?(words: readonly string[], pauses: Float32Array | null): Promise<Punctuation>;
  release(): Promise<void>;
}
