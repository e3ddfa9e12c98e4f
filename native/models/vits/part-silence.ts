/** Silence at a cut between two parts of a sentence without a mark, on each side. */
const JOIN_SECONDS = 0.02;
/** The longest pause at a mark. */
const MARK_SECONDS = 0.25;
const FRAME_SECONDS = 0.005;
/** Silence relative to the loudest frame: -40 dB. */
const QUIET = 0.01;

export interface PartEnds {
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** Whether the part ends with a mark. */
  readonly hasMark: boolean;
}

/**
 * Returns the samples `[start, end)` to keep of a sentence's part. A graph surrounds each part with silence,
 * which the sentence has only at its ends; a mark's pause belongs to the part before it.
 */
export function keptSamples(
  samples: Float32Array,
  rateHz: number,
  { isFirst, isLast, hasMark }: PartEnds,
): { readonly start: number; readonly end: number } {
  const frame = Math.max(1, Math.round(FRAME_SECONDS * rateHz));
  const levels = Array.from({ length: Math.ceil(samples.length / frame) }, (_, index) =>
    levelOf(samples.subarray(index * frame, (index + 1) * frame)),
  );
  const quiet = QUIET * levels.reduce((most, level) => Math.max(most, level), 0);
  const first = levels.findIndex((level) => level > quiet);
  if (first < 0) return { start: 0, end: samples.length };
  const last = levels.findLastIndex((level) => level > quiet);
  const pauseSeconds = hasMark ? MARK_SECONDS : JOIN_SECONDS;
  return {
    start: isFirst ? 0 : Math.max(0, Math.round(first * frame - JOIN_SECONDS * rateHz)),
    end: isLast
      ? samples.length
      : Math.min(samples.length, Math.round((last + 1) * frame + pauseSeconds * rateHz)),
  };
}

function levelOf(samples: Float32Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return Math.sqrt(sum / samples.length);
}
