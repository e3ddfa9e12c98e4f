/** Frames of a piece for one vocoder run. All counts are frames of the piece. */
export interface VocoderWindow {
  /** First and one past the last frame whose samples are used. */
  readonly start: number;
  readonly end: number;
  /** Input of the vocoder: these frames, and those around them that their samples depend on. */
  readonly contextStart: number;
  readonly contextEnd: number;
}

/** Input sizes, kept few so that the runtime sees few shapes. A piece shorter than the first is one input. */
const SIZES = [64, 128, 256] as const;
const LARGEST_SIZE = SIZES[SIZES.length - 1] ?? SIZES[0];

/**
 * Returns the window whose samples start at frame `start`. Adjacent windows give the same samples as one run
 * over the whole piece, because they include all frames within reach.
 *
 * @param frames length of the whole piece
 * @param known frames so far: all of them, or enough for `stop` and the reach after it
 * @param stop one past the last wanted frame, more than `start`
 * @param reach frames on each side on which a frame's samples depend
 */
export function vocoderWindow(options: {
  readonly frames: number;
  readonly known: number;
  readonly start: number;
  readonly stop: number;
  readonly reach: number;
}): VocoderWindow {
  const { frames, known, start, stop, reach } = options;
  const needed = Math.min(known, stop + reach) - Math.max(0, start - reach);
  const wanted = SIZES.find((one) => one >= needed) ?? LARGEST_SIZE;
  const size = wanted <= known ? wanted : (SIZES.findLast((one) => one <= known) ?? known);
  // At the end of the known frames, moves the window back instead of cutting it, to keep its size.
  const contextStart = Math.min(Math.max(0, start - reach), known - size);
  const contextEnd = contextStart + size;
  const reached = contextEnd === frames ? frames : contextEnd - reach;
  return { start, end: Math.min(stop, reached), contextStart, contextEnd };
}
