/** Whole days, both counted; UTC, `2026-11-21`. */
export interface UsagePeriod {
  readonly from: string;
  readonly to: string;
}
