/** Marks whose tokens hold silence; a hyphen is said within its word. */
const PAUSES: ReadonlySet<string> = new Set([",", ";", ":", "—", ".", "!", "?"]);

/**
 * Durations with longer or shorter pauses at the marks inside of a piece.
 *
 * @param logDurations `[tokens]`, log(1 + frames)
 * @param symbols `[tokens]`
 * @param breath multiplies the frames of marks
 */
export function withBreath(
  logDurations: Float32Array,
  symbols: readonly string[],
  breath: number,
): Float32Array {
  if (breath === 1) return logDurations;
  return logDurations.map((value, token) =>
    PAUSES.has(symbols[token]!) ? Math.log1p(Math.max(0, Math.expm1(value)) * breath) : value,
  );
}
