import type { Reading, ReadingTask } from "../domain/text/display/reading.js";

/** Makes transcripts readable. */
export interface TranscriptReader {
  /** Never rejects: even without a model, it writes numbers in digits and masks personal data. */
  read(task: ReadingTask): Promise<Reading>;
}
