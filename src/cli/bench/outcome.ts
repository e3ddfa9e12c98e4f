import { bootstrapRate, type Estimate } from "../../../core/domain/statistics/bootstrap.js";
import { uniformRandom } from "../../../core/domain/statistics/uniform-random.js";
import { bucketOf, Histogram, middleOf } from "./histogram.js";
import { kindOf } from "./refusal.js";
import type { Distribution, LevelResult, MetricName, TimelinePoint } from "./result.js";

/**
 * Values measured by one session or request. The bootstrap draws whole outcomes, because their values
 * correlate.
 */
export interface Outcome {
  readonly values: Readonly<Partial<Record<MetricName, readonly number[]>>>;
  /** Values of the main metric, with the second of the level at which each was measured. */
  readonly timed: readonly { readonly second: number; readonly value: number }[];
  readonly words: readonly { readonly edits: number; readonly length: number }[];
  readonly missed: number;
  readonly sentences: number;
  readonly underruns: number;
  /** Null if the session or request succeeded. */
  readonly failure: string | null;
  readonly credits: number;
}

export const NO_OUTCOME: Outcome = {
  values: {},
  timed: [],
  words: [],
  missed: 0,
  sentences: 0,
  underruns: 0,
  failure: null,
  credits: 0,
};

const RESAMPLINGS = 200;
const SEED = 1;
const SHARES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
const HISTOGRAM_BARS = 60;
const TIMELINE_POINTS = 30;

/** Summarizes the outcomes of a level. */
export function summarized(
  outcomes: readonly Outcome[],
  level: Pick<LevelResult, "load" | "seconds" | "own_cpu_percent"> & { readonly lateness: Histogram },
): LevelResult {
  const { load, seconds, own_cpu_percent, lateness } = level;
  const names = new Set(outcomes.flatMap(({ values }) => Object.keys(values) as MetricName[]));
  const metrics: Partial<Record<MetricName, Distribution>> = {};
  for (const name of names) {
    const found = distributionOf(outcomes.map(({ values }) => values[name] ?? []));
    if (found !== null) metrics[name] = found;
  }
  const words = outcomes.flatMap((outcome) => outcome.words);
  const failures = new Map<string, { readonly reason: string; count: number }>();
  for (const { failure } of outcomes) {
    if (failure === null) continue;
    const counted = failures.get(kindOf(failure));
    if (counted === undefined) failures.set(kindOf(failure), { reason: failure, count: 1 });
    else counted.count++;
  }
  const total = (of: (outcome: Outcome) => number) => outcomes.reduce((sum, outcome) => sum + of(outcome), 0);
  return {
    load,
    seconds,
    started: outcomes.length,
    failed: total(({ failure }) => (failure === null ? 0 : 1)),
    failures: [...failures.values()],
    missed: total(({ missed }) => missed),
    sentences: total(({ sentences }) => sentences),
    underruns: total(({ underruns }) => underruns),
    metrics,
    word_error_rate:
      words.length === 0
        ? null
        : bootstrapRate(
            words.map(({ edits }) => edits),
            words.map(({ length }) => length),
          ),
    timeline: timelineOf(outcomes, seconds),
    own_lateness: { p50: lateness.percentile(SHARES.p50), p99: lateness.percentile(SHARES.p99) },
    own_cpu_percent,
    credits: total(({ credits }) => credits),
  };
}

/**
 * Computes percentiles, with bootstrap intervals over units; values are counted in buckets of 0.5 %.
 *
 * @param units values of each session or request
 */
export function distributionOf(units: readonly (readonly number[])[]): Distribution | null {
  const sorted = Float64Array.from(units.flat()).sort();
  if (sorted.length === 0) return null;
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  const drawn = resampled(units.filter(({ length }) => length > 0));
  const estimate = (name: keyof typeof SHARES): Estimate => {
    const draws = drawn.map((each) => each[name]).toSorted((a, b) => a - b);
    const value = at(SHARES[name]);
    // The values are exact; only the bootstrap draws are rounded to buckets.
    return {
      value,
      low: Math.min(value, draws[Math.floor(0.025 * RESAMPLINGS)]!),
      high: Math.max(value, draws[Math.floor(0.975 * RESAMPLINGS)]!),
    };
  };
  return {
    count: sorted.length,
    p50: estimate("p50"),
    p95: estimate("p95"),
    p99: estimate("p99"),
    max: sorted.at(-1)!,
    histogram: new Histogram().addAll(sorted).pairs(HISTOGRAM_BARS),
  };
}

type Percentiles = Record<keyof typeof SHARES, number>;

function resampled(units: readonly (readonly number[])[]): readonly Percentiles[] {
  const random = uniformRandom(SEED);
  const buckets = [...new Set(units.flat().map(bucketOf))].sort((a, b) => a - b);
  const places = new Map(buckets.map((bucket, place) => [bucket, place]));
  const byUnit = units.map((values) => Uint32Array.from(values, (value) => places.get(bucketOf(value))!));
  const counts = new Uint32Array(buckets.length);
  return Array.from({ length: RESAMPLINGS }, () => {
    counts.fill(0);
    let total = 0;
    for (let i = 0; i < byUnit.length; i++) {
      const unit = byUnit[Math.floor(random() * byUnit.length)]!;
      total += unit.length;
      for (let k = 0; k < unit.length; k++) counts[unit[k]!]!++;
    }
    const at = (share: number) => middleOf(buckets[placeOf(counts, Math.floor(share * total))]!);
    return { p50: at(SHARES.p50), p95: at(SHARES.p95), p99: at(SHARES.p99) };
  });
}

function placeOf(counts: Uint32Array, rank: number): number {
  let seen = 0;
  for (let place = 0; place < counts.length; place++) {
    seen += counts[place]!;
    if (seen > rank) return place;
  }
  return counts.length - 1;
}

function timelineOf(outcomes: readonly Outcome[], seconds: number): readonly TimelinePoint[] {
  const width = Math.max(1, seconds / TIMELINE_POINTS);
  const parts: (Histogram | undefined)[] = [];
  for (const { second, value } of outcomes.flatMap(({ timed }) => timed)) {
    const part = Math.max(0, Math.floor(second / width));
    parts[part] ??= new Histogram();
    parts[part].add(value);
  }
  return parts.flatMap((part, nth) =>
    part === undefined
      ? []
      : [{ second: nth * width, p50: part.percentile(SHARES.p50), p95: part.percentile(SHARES.p95) }],
  );
}
