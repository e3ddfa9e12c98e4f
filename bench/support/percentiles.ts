export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Returns percentiles rounded to `digits` after the point; null for no values. */
export function percentiles(values: readonly number[], digits = 0): Percentiles | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const scale = 10 ** digits;
  const at = (share: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]! * scale) / scale;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

export function showPercentiles(name: string, value: Percentiles | null, unit = "ms"): string {
  return value === null ? `${name} none` : `${name} ${value.p50}/${value.p95}/${value.p99} ${unit}`;
}
