import type { Reading, ReadingTask } from "../domain/text/display/reading.js";

/** Makes transcripts readable. */
export interface TranscriptReader {
  /** Never rejects: without a model, figures are written and personal data is masked all the same. */
  read(task: ReadingTask): Promise<Reading>;
}
