import type { PieceTrim } from "./silence.js";

/**
 * Where in a piece's samples each of its characters is said.
 *
 * @param durations frames of each token: begin mark, characters, end mark
 * @param trim which of those frames are sent, with how much silence before them
 * @returns `[characters + 1]`, ascending: the sample at which each character begins, and at which the last one ends
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
