/** Ranges within which a seam is measured. */
const SEAM_SECONDS = 0.001;
const AROUND_SECONDS = 0.3;

/**
 * The click that a border between two chunks adds, in dB: the largest jump of slope within a millisecond of
 * it, in what sounds other than the whole piece, against the largest of the speech around. A click is a jump
 * that the speech does not have; what the two differ by around the border, since integer products round
 * otherwise in another chunk, is taken off.
 *
 * @param whole the piece solved as a whole, at the same level
 * @param border sample
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
