/** Silence at the start and end of every piece, in frames: 21 and 43 ms. */
export const LEADING_FRAMES = 2;
export const TRAILING_FRAMES = 4;
/**
 * Audible silence at both ends of a piece: below -60 dB of full scale, measured over all voices, within 12
 * ms. It is slightly longer than the frames, whose windows reach into the adjacent speech.
 */
export const LEADING_MS = 30;
export const TRAILING_MS = 48;

/**
 * The frames of a piece that are sent, and the digital silence that replaces missing silence of the model.
 */
export interface PieceTrim {
  /** First and one past the last frame to be sent. */
  readonly start: number;
  readonly stop: number;
  readonly silentFramesBefore: number;
  readonly silentFramesAfter: number;
}

/**
 * Cuts the silence at both ends of a piece to set lengths, before the vocoder runs.
 *
 * @param mel `[frames, melBins]`, normalized log-mel
 * @param silenceBelow mean below which a frame is silent
 */
export function trimSilence(mel: Float32Array, melBins: number, silenceBelow: number): PieceTrim {
  const frames = Math.floor(mel.length / melBins);
  // Never null for a whole piece.
  return trimSoFar(mel, { melBins, silenceBelow, frames })!;
}

/**
 * Trims while only the start of a piece is known. `start` is final; frames before `stop` may be sent in any
 * case. Silence at the end of the known part waits, because speech or the end of the piece may follow.
 *
 * @param mel `[known frames, melBins]`
 * @param piece.frames of the whole piece
 * @returns null while no speech is known
 */
export function trimSoFar(
  mel: Float32Array,
  piece: { readonly melBins: number; readonly silenceBelow: number; readonly frames: number },
): PieceTrim | null {
  const { melBins, silenceBelow, frames } = piece;
  const known = Math.floor(mel.length / melBins);
  const isSilent = (frame: number) => {
    let sum = 0;
    for (let i = frame * melBins; i < (frame + 1) * melBins; i++) sum += mel[i]!;
    return sum < silenceBelow * melBins;
  };
  let first = 0;
  while (first < known && isSilent(first)) first++;
  if (first === known) {
    if (known < frames) return null;
    // A piece of only silence keeps its length.
    return { start: 0, stop: frames, silentFramesBefore: 0, silentFramesAfter: 0 };
  }
  let end = known;
  while (isSilent(end - 1)) end--;
  const start = Math.max(0, first - LEADING_FRAMES);
  const silentFramesBefore = LEADING_FRAMES - (first - start);
  // The last frame of the piece is faded, so it waits until it is known to be the last.
  if (known < frames) {
    const stop = Math.min(known, end + TRAILING_FRAMES - 1);
    return { start, stop, silentFramesBefore, silentFramesAfter: 0 };
  }
  const stop = Math.min(frames, end + TRAILING_FRAMES);
  return { start, stop, silentFramesBefore, silentFramesAfter: TRAILING_FRAMES - (stop - end) };
}
