import type { PieceTrim } from "./silence.js";

/**
 * Finds the samples of each character of a piece.
 *
 * @param durations frames of each token: start mark, characters, end mark
 * @param trim the frames that are sent, and the silence before them
 * @returns `[characters + 1]`, ascending: the sample at which each character starts, and at which the last
 * one ends
 */
export function characterBounds(durations: Int32Array, trim: PieceTrim, hopSamples: number): Int32Array {
  const bounds = new Int32Array(durations.length - 1);
  let frame = 0;
  for (let character = 0; character < bounds.length; character++) {
    frame += durations[character]!;
    const sentFrame = Math.min(Math.max(frame, trim.start), trim.stop) - trim.start;
    bounds[character] = (trim.silentFramesBefore + sentFrame) * hopSamples;
  }
  return bounds;
}
