import { QUANTITIES, type Quantity, type Reading } from "./readings.js";

/** Growth above this share of the median is a leak until it is explained. */
export const MOST_DRIFT = 0.05;
/** Half the width of a 95 % interval in standard deviations. */
const DEVIATIONS = 1.96;
const ROWS_AT_MOST = 2_000;

/** How much a quantity grew over the run. */
export interface Drift {
  readonly quantity: Quantity;
  /** The median of the readings from the second quarter on. */
  readonly median: number;
  /**
   * The growth from the second quarter to the end, as a share of the median, or of the count itself if the
   * median is 0.
   */
  readonly share: number;
  /** The lower and upper end of the 95 % interval of `share`. */
  readonly interval: readonly [low: number, high: number];
  /** True if the growth is above the limit and the scatter of the readings does not explain it. */
  readonly isLeak: boolean;
}

/** Computes the drift of every quantity. @param readings in order; the first quarter is warm-up */
export function driftsOf(readings: readonly Reading[]): readonly Drift[] {
  const warm = readings.slice(Math.floor(readings.length / 4));
  const last = warm.at(-1);
  if (warm.length < 8 || last === undefined)
    throw new Error(`a drift needs at least 11 readings, received ${readings.length}`);
  return (Object.keys(QUANTITIES) as Quantity[]).map((quantity) => driftOf(quantity, warm));
}

/**
 * Theil's slope with Sen's 95 % interval: the median of the slopes of all pairs, which a tenth of the readings
 * cannot move.
 *
 * @see Sen, 1968, "Estimates of the regression coefficient based on Kendall's tau"
 */
function driftOf(quantity: Quantity, all: readonly Reading[]): Drift {
  // All pairs of more readings than this would not fit in memory.
  const step = Math.ceil(all.length / ROWS_AT_MOST);
  const readings = all.filter((_, nth) => nth % step === 0);
  const spanSeconds = readings.at(-1)!.seconds - readings[0]!.seconds;
  const slopes: number[] = [];
  for (let to = 1; to < readings.length; to++) {
    for (let from = 0; from < to; from++) {
      const seconds = readings[to]!.seconds - readings[from]!.seconds;
      if (seconds > 0) slopes.push((readings[to]![quantity] - readings[from]![quantity]) / seconds);
    }
  }
  const sorted = Float64Array.from(slopes).sort();
  const median = quantileOf(Float64Array.from(readings, (reading) => reading[quantity]).sort(), 0.5);
  const unit = spanSeconds / (median === 0 ? 1 : Math.abs(median));
  const count = readings.length;
  const deviation = Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18);
  const half = (DEVIATIONS * deviation) / (2 * sorted.length);
  const share = quantileOf(sorted, 0.5) * unit;
  const interval = [quantileOf(sorted, 0.5 - half) * unit, quantileOf(sorted, 0.5 + half) * unit] as const;
  return { quantity, median, share, interval, isLeak: share > MOST_DRIFT && interval[0] > 0 };
}

function quantileOf(sorted: Float64Array, share: number): number {
  const at = Math.min(1, Math.max(0, share)) * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN];
  return low + (high - low) * (at - Math.floor(at));
}
