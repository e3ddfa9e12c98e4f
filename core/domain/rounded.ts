/** Rounds seconds for responses, to the millisecond. Billed amounts are never rounded. */
export function seconds(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/** Rounds the times of a word or span like `seconds`. */
export function roundedTimes<T extends { readonly start: number; readonly end: number }>(timed: T): T {
  return { ...timed, start: seconds(timed.start), end: seconds(timed.end) };
}

/** Rounds a share, confidence or real-time factor for responses, to four decimals. */
export function ratio(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
