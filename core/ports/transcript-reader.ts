import type { TimedWord } from "../domain/decoding/words.js";
import type { Reading, ReadingTask } from "../domain/text/display/reading.js";

/** A text whose words become known one after another. */
export interface GrowingText {
  /** Adds the next words, which may be read before the text is complete. */
  add(words: readonly TimedWord[]): void;
  /**
   * Reads the complete text: sooner than `TranscriptReader.read`, with the same result.
   * @param task must begin with the words that were added
   */
  read(task: ReadingTask): Promise<Reading>;
}

/** Makes transcripts readable. */
export interface TranscriptReader {
  /** Never rejects: even without a model, it writes numbers in digits and masks personal data. */
  read(task: ReadingTask): Promise<Reading>;
  /** Begins a text that is read while it grows. */
  begin?(): GrowingText;
}
