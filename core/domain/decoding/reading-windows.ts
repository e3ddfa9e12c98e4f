import type { SampleSpan } from "../audio/resample.js";

/**
 * Windows in which a full-context model reads an utterance while it is spoken. Window `n` starts `n` strides
 * after the utterance; the next one repeats its last `overlapSamples`. Both are whole rows of log-probs.
 */
export interface ReadingWindows {
  readonly strideSamples: number;
  readonly overlapSamples: number;
}

/** Returns the samples of the utterance in a window. */
export function windowOf({ strideSamples, overlapSamples }: ReadingWindows, window: number): SampleSpan {
  const start = window * strideSamples;
  return { start, end: start + strideSamples + overlapSamples };
}

/**
 * Counts the windows that an utterance of this length fills; the rest, from the start of the next window, is
 * longer than an overlap. The count depends on the length alone, so an utterance is always read in the same
 * windows.
 */
export function fullWindows({ strideSamples, overlapSamples }: ReadingWindows, sampleCount: number): number {
  return Math.max(0, Math.ceil((sampleCount - overlapSamples) / strideSamples) - 1);
}
