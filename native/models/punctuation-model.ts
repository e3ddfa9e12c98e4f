import type { Punctuation } from "../../core/domain/text/display/marks.js";

/** Restores punctuation and capitals of transcripts. Runs one text at a time. */
export interface PunctuationModel {
  /**
   * Reads a text of any length.
   *
   * @param words lower case
   * @param pauses seconds after each word, -1 where unknown; models may ignore them
   */
  read(words: readonly string[], pauses?: Float32Array | null): Promise<Punctuation>;
  release(): Promise<void>;
}
