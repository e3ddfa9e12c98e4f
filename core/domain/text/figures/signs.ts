const SIGN = /^(?:минус|плюс)$/;

/**
 * Whether a number [first, end) has a sign and another signed number follows it, as in "минус бес плюс он
 * градус".
 *
 * @param isFigure whether a number that starts at an index will be written in digits
 */
export function isSignedPair(
  words: readonly string[],
  first: number,
  end: number,
  isFigure: (at: number) => boolean,
): boolean {
  return SIGN.test(words[first - 1] ?? "") && SIGN.test(words[end] ?? "") && isFigure(end + 1);
}
