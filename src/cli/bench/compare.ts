import type { Estimate } from "../../../core/domain/statistics/bootstrap.js";
import { type BenchResult, type Distribution, type LevelResult, METRICS, type MetricName } from "./result.js";

export const PERCENTILES = ["p50", "p95", "p99"] as const;

/** Difference between a percentile of the newer result and that of the older one, with a 95 % interval. */
export interface Difference {
  readonly load: number;
  readonly metric: MetricName;
  readonly percentile: (typeof PERCENTILES)[number];
  readonly before: number;
  readonly after: number;
  readonly change: Estimate;
  readonly verdict: "better" | "worse" | "no clear difference";
}

/**
 * Compares two results at the loads that both have. @throws {Error} if the scenarios differ or no load
 * matches
 */
export function compared(before: BenchResult, after: BenchResult): readonly Difference[] {
  if (before.scenario !== after.scenario)
    throw new Error(`cannot compare a result of "${before.scenario}" with one of "${after.scenario}"`);
  const pairs = after.levels.flatMap((level) => {
    const old = before.levels.find(({ load }) => load === level.load);
    return old === undefined ? [] : [[old, level] as const];
  });
  if (pairs.length === 0) throw new Error("cannot compare: the results have no load in common");
  return pairs.flatMap(([old, level]) => differencesOf(old, level));
}

function differencesOf(before: LevelResult, after: LevelResult): readonly Difference[] {
  const names = Object.keys(after.metrics) as MetricName[];
  return names.flatMap((metric) => {
    const [old, now] = [before.metrics[metric], after.metrics[metric]];
    if (old === undefined || now === undefined) return [];
    return PERCENTILES.map((percentile) => differenceOf(metric, percentile, after.load, old, now));
  });
}

function differenceOf(
  metric: MetricName,
  percentile: (typeof PERCENTILES)[number],
  load: number,
  before: Distribution,
  after: Distribution,
): Difference {
  const change = differenceInterval(before[percentile], after[percentile]);
  const isLower = change.high < 0;
  const isHigher = change.low > 0;
  const isBetter = METRICS[metric].isBetterLow ? isLower : isHigher;
  return {
    ...{ load, metric, percentile, change },
    before: before[percentile].value,
    after: after[percentile].value,
    verdict: isLower || isHigher ? (isBetter ? "better" : "worse") : "no clear difference",
  };
}

/**
 * Combines the confidence intervals of two independent estimates into an interval of their difference.
 * @see Zou and Donner, "Construction of confidence limits about effect measures", 2008 (MOVER)
 */
export function differenceInterval(before: Estimate, after: Estimate): Estimate {
  const value = after.value - before.value;
  return {
    value,
    low: value - Math.hypot(after.value - after.low, before.high - before.value),
    high: value + Math.hypot(after.high - after.value, before.value - before.low),
  };
}
