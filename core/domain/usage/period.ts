/** Whole UTC days, both included, as `2026-11-21`. */
export interface UsagePeriod {
  readonly from: string;
  readonly to: string;
}
