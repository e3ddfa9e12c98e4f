/** Ranges within which a seam is measured. */
const SEAM_SECONDS = 0.001;
const AROUND_SECONDS = 0.3;

/**
 * Measures the click at a border between two chunks, in dB: the largest jump of slope within a millisecond of
 * the border, in the difference from the whole piece, relative to the largest jump of the surrounding speech.
 * A click is a jump that the speech does not have. The general difference around the border is subtracted,
 * because integer products round differently in another chunk.
 *
 * @param whole the piece solved as a whole, at the same level
 * @param border sample of the border
 */
export function addedClickDb(
  whole: Float32Array,
  chunked: Float32Array,
  border: number,
  sampleRateHz: number,
): number {
  const added = (i: number) => chunked[i]! - whole[i]!;
  const jump = (valueAt: (i: number) => number, around: number, farther = -1) => {
    let most = 0;
    for (let i = Math.max(2, border - around); i < Math.min(whole.length, border + around); i++) {
      if (Math.abs(i - border) <= farther) continue;
      most = Math.max(most, Math.abs(valueAt(i) - 2 * valueAt(i - 1) + valueAt(i - 2)));
    }
    return most;
  };
  const [near, far] = [Math.round(SEAM_SECONDS * sampleRateHz), Math.round(AROUND_SECONDS * sampleRateHz)];
  const atSeam = jump(added, near) - jump(added, far, near);
  const around = jump((i) => whole[i]!, far);
  return 20 * Math.log10(Math.max(atSeam, 1e-9) / Math.max(around, 1e-9));
}
