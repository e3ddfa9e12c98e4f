/** Tokens [first, end) of a text that are read in one run; those of [from, to) are kept. */
export interface TokenWindow {
  readonly first: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Cuts a text into overlapping windows, as the models' authors do: of an overlap, the earlier window's first
 * half and the later window's second half are kept.
 *
 * @param count tokens of the text
 * @param longest tokens of a window
 */
export function tokenWindows(count: number, longest: number, overlap: number): TokenWindow[] {
  const half = overlap >> 1;
  const windows: TokenWindow[] = [];
  for (let next = 0; next < count; ) {
    const first = windows.length === 0 ? 0 : next - overlap;
    const end = Math.min(count, first + longest);
    windows.push({
      first,
      end,
      from: windows.length === 0 ? 0 : first + half,
      to: end === count ? end : end - half,
    });
    next = end;
  }
  return windows;
}
