/** The token of each frame, and the frame's position in it. */
export interface FrameAlignment {
  /** Even, so that frames pair up into the decoder's patches. */
  readonly frames: number;
  /** `[frames]` */
  readonly frameToToken: BigInt64Array;
  /** `[frames, 3]`: elapsed share of the token, remaining share, half the log of its length. */
  readonly position: Float32Array;
  /** Frames of each token, `[tokens]`. */
  readonly durations: Int32Array;
}

/**
 * Assigns frames to tokens. Boundaries are rounded after summing, so that rounding errors do not add up.
 * @param logDurations `[tokens]`, log(1 + frames)
 * @see models/recipes/synthesizer, which trains with the same layout
 */
export function alignFrames(logDurations: Float32Array): FrameAlignment {
  const tokens = logDurations.length;
  const durations = new Int32Array(tokens);
  let exact = 0;
  let placed = 0;
  for (let token = 0; token < tokens; token++) {
    exact += Math.max(0, Math.expm1(logDurations[token]!));
    const boundary = Math.round(exact);
    durations[token] = boundary - placed;
    placed = boundary;
  }
  // The decoder takes pairs of frames; the last token, which is silence, gets the odd one.
  const frames = Math.max(2, placed + (placed % 2));
  durations[tokens - 1] = durations[tokens - 1]! + frames - placed;
  const frameToToken = new BigInt64Array(frames);
  const position = new Float32Array(frames * 3);
  let frame = 0;
  for (let token = 0; token < tokens; token++) {
    const length = durations[token]!;
    for (let inside = 0; inside < length; inside++, frame++) {
      frameToToken[frame] = BigInt(token);
      position[frame * 3] = (inside + 0.5) / length;
      position[frame * 3 + 1] = 1 - (inside + 0.5) / length;
      position[frame * 3 + 2] = Math.log1p(length) / 2;
    }
  }
  return { frames, frameToToken, position, durations };
}
