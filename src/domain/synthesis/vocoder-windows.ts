/** Some frames of a piece and the frames around them that their samples depend on. All counts are frames of the piece. */
export interface VocoderWindow {
  /** First and one past the last frame whose samples are taken. */
  readonly start: number;
  readonly end: number;
  /** What the vocoder is given. */
  readonly contextStart: number;
  readonly contextEnd: number;
}

/** Sizes of what the vocoder is given: few shapes for the runtime. A piece shorter than the first is given as a whole. */
const SIZES = [64, 128, 256] as const;
/** A listener who waits hears something after the smallest window: half a second. */
const FIRST_SIZE = SIZES[0];
const LARGEST_SIZE = SIZES[SIZES.length - 1] ?? FIRST_SIZE;

/**
 * The window whose samples begin at frame `start`, so that windows side by side equal the vocoder's one run over the
 * whole piece: what is beyond a window's reach changes nothing, and the ends of the piece stay its ends.
 *
 * @param frames of the whole piece
 * @param stop one past the last frame that is wanted, more than `start`
 * @param reach frames on each side that a frame's samples depend on
 * @param isAwaited somebody waits for the first sound of this piece: the window is as small as can be
 */
export function vocoderWindow(options: {
  readonly frames: number;
  readonly start: number;
  readonly stop: number;
  readonly reach: number;
  readonly isAwaited: boolean;
}): VocoderWindow {
  const { frames, start, stop, reach, isAwaited } = options;
  const needed = Math.min(frames, stop + reach) - Math.max(0, start - reach);
  const wanted = isAwaited ? FIRST_SIZE : (SIZES.find((one) => one >= needed) ?? LARGEST_SIZE);
  const size = wanted <= frames ? wanted : (SIZES.findLast((one) => one <= frames) ?? frames);
  // At the end of the piece the window is moved back rather than cut, so that its size stays one of few.
  const contextStart = Math.min(Math.max(0, start - reach), frames - size);
  const contextEnd = contextStart + size;
  const reached = contextEnd === frames ? frames : contextEnd - reach;
  return { start, end: Math.min(stop, reached), contextStart, contextEnd };
}
