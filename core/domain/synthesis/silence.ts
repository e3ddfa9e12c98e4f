/** Silence that every piece begins and ends with, whatever the model made, in frames: 21 and 43 ms. */
export const LEADING_FRAMES = 2;
export const TRAILING_FRAMES = 4;
/**
 * Silence that is heard at both ends of a piece: below -60 dB of full scale, measured over all voices, within 12 ms. It is a
 * little longer than the frames, whose windows reach into the speech beside them.
 */
export const LEADING_MS = 30;
export const TRAILING_MS = 48;

/** Which frames of a piece are sent, and how much digital silence makes up for silence that the model did not give. */
export interface PieceTrim {
  /** First and one past the last frame to be sent. */
  readonly start: number;
  readonly stop: number;
  readonly silentFramesBefore: number;
  readonly silentFramesAfter: number;
}

/**
 * Cuts the silence at both ends of a piece to set lengths, before anything is vocoded.
 *
 * @param mel `[frames, melBins]`, normalised log-mel
 * @param silenceBelow a frame whose mean lies below is silent
 */
export function trimSilence(mel: Float32Array, melBins: number, silenceBelow: number): PieceTrim {
  const frames = Math.floor(mel.length / melBins);
  // Of a whole piece it is always known.
  return trimSoFar(mel, { melBins, silenceBelow, frames })!;
}

/**
 * The same while only the beginning of a piece is known. `start` stays what it is; `stop` is as far as may be sent in any
 * case. Silence at the end of what is known waits: speech may follow it, or it is the end, which has its set length.
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
    // A piece of silence alone keeps its length: there is no speech to measure from.
    return { start: 0, stop: frames, silentFramesBefore: 0, silentFramesAfter: 0 };
  }
  let end = known;
  while (isSilent(end - 1)) end--;
  const start = Math.max(0, first - LEADING_FRAMES);
  const silentFramesBefore = LEADING_FRAMES - (first - start);
  // The last frame of the piece is faded: it waits until it is known to be the last.
  if (known < frames) {
    const stop = Math.min(known, end + TRAILING_FRAMES - 1);
    return { start, stop, silentFramesBefore, silentFramesAfter: 0 };
  }
  const stop = Math.min(frames, end + TRAILING_FRAMES);
  return { start, stop, silentFramesBefore, silentFramesAfter: TRAILING_FRAMES - (stop - end) };
}
