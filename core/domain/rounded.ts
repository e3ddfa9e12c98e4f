/** Seconds as answers show them, to the millisecond. What is billed is never rounded. */
export function seconds(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/** A share, a confidence or a real-time factor as answers show it, to four decimals. */
export function ratio(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
