import type { SampleSpan } from "../../core/domain/audio/resample.js";
import type { LogProbs } from "./log-probs.js";

/** The part of an utterance that was read while it was spoken. */
export interface Reading {
  /** Number of rows so far, each of the recogniser's `outputFrameSamples`. */
  readonly rowCount: number;
  /** `[rowCount, vocabulary]` and space for more; natural log. */
  readonly rows: Float32Array;
}

/**
 * Reads utterances in chunks while they are spoken, each from zeros at its start. Its output depends only on
 * the utterance's audio, not on earlier audio, on other utterances, or on when it runs.
 */
export interface UtteranceReader {
  /** Whether a reading also serves an utterance that turns out to end before the last chunk read. */
  readonly endsAnywhere: boolean;
  begin(): Reading;
  /** Returns the samples of the utterance that its next chunk needs; those below 0 are silence. */
  next(reading: Reading): SampleSpan;
  /**
   * Reads the next chunk of an utterance.
   * @param pcm the samples of `next`, -1 to 1
   * @returns the rows of the chunk
   */
  read(reading: Reading, pcm: Float32Array): Promise<LogProbs>;
  /** Reads the next windows of several utterances in one run if the graph allows. Absent for chunks. */
  readTogether?(readings: readonly Reading[], pcms: readonly Float32Array[]): Promise<readonly LogProbs[]>;
}

/** Copies a span of an utterance; positions outside it are silence. */
export function copySpan(pcm: Float32Array, { start, end }: SampleSpan): Float32Array {
  const copy = new Float32Array(end - start);
  const from = Math.max(0, start);
  if (from < Math.min(end, pcm.length)) copy.set(pcm.subarray(from, Math.min(end, pcm.length)), from - start);
  return copy;
}
