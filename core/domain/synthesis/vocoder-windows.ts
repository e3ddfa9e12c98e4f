/** Some frames of a piece and the frames around them that their samples depend on. All counts are frames of the piece. */
export interface VocoderWindow {
  /** First and one past the last frame whose samples are taken. */
  readonly start: number;
  readonly end: number;
  /** What the vocoder is given. */
  readonly contextStart: number;
  readonly contextEnd: number;
}

/** Sizes of what the vocoder is given: few shapes for the runtime. Fewer frames than the first are given as a whole. */
const SIZES = [64, 128, 256] as const;
const LARGEST_SIZE = SIZES[SIZES.length - 1] ?? SIZES[0];

/**
 * The window whose samples begin at frame `start`, so that windows side by side equal the vocoder's one run over the
 * whole piece: what is beyond a window's reach changes nothing, and the ends of the piece stay its ends.
 *
 * @param frames of the whole piece
 * @param known frames that there are so far: all of them, or enough for `stop` and the reach behind it
 * @param stop one past the last frame that is wanted, more than `start`
 * @param reach frames on each side that a frame's samples depend on
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
  // At the end of what is known the window is moved back rather than cut, so that its size stays one of few.
  const contextStart = Math.min(Math.max(0, start - reach), known - size);
  const contextEnd = contextStart + size;
  const reached = contextEnd === frames ? frames : contextEnd - reach;
  return { start, end: Math.min(stop, reached), contextStart, contextEnd };
}
