/** Marks whose tokens contain silence; a hyphen is part of its word. */
const PAUSES: ReadonlySet<string> = new Set([",", ";", ":", "—", ".", "!", "?"]);

/**
 * Scales the pauses at the marks inside a piece.
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
