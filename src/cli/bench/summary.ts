import type { Estimate } from "../../../core/domain/statistics/bootstrap.js";
import type { Difference } from "./compare.js";
import { type BenchResult, type LevelResult, METRICS, type MetricName, type Scenario } from "./result.js";

/** Formats a value with three significant digits and its unit. */
export function shown(value: number, unit: string): string {
  const text = Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
  return unit === "" ? text : `${text} ${unit}`;
}

export function loadName(scenario: Scenario, load: number): string {
  if (scenario === "live") return `${load} ${load === 1 ? "session" : "sessions"}`;
  return `${load} ${load === 1 ? "request" : "requests"} a second`;
}

export function metricNames(level: LevelResult): readonly MetricName[] {
  return (Object.keys(METRICS) as MetricName[]).filter((name) => level.metrics[name] !== undefined);
}

/** Above this, the bench or its machine was too busy to keep the schedule. */
const LATE_P99_MS = 20;

/** Returns a warning if the bench could not keep its own schedule; null otherwise. */
export function lateness({ own_lateness, own_cpu_percent }: LevelResult): string | null {
  if (own_lateness.p99 <= LATE_P99_MS) return null;
  const late = shown(own_lateness.p99, "ms");
  return `The bench sent ${late} late (p99) at ${shown(own_cpu_percent, "%")} of a core: its machine is too busy for exact delays`;
}

/** Formats a level as lines for a terminal. */
export function levelLines(scenario: Scenario, level: LevelResult): readonly string[] {
  const counts = [`${level.started} started`, `${level.failed} failed`];
  if (scenario === "live") counts.push(`${level.missed} of ${level.sentences} finals missing`);
  if (scenario === "speech") counts.push(`${level.underruns} underruns`);
  const lines = [`${loadName(scenario, level.load)}, ${Math.round(level.seconds)} s: ${counts.join(", ")}`];
  for (const { reason, count } of level.failures) lines.push(`  failed: ${count} × ${reason}`);
  for (const name of metricNames(level)) {
    const { label, unit } = METRICS[name];
    const { p50, p95, p99 } = level.metrics[name]!;
    lines.push(
      `  ${label}: p50 ${withInterval(p50, unit)}, p95 ${shown(p95.value, unit)}, p99 ${shown(p99.value, unit)}`,
    );
  }
  const errors = level.word_error_rate;
  if (errors !== null)
    lines.push(`  Words wrong: ${percent(errors.value)} (${percent(errors.low)} to ${percent(errors.high)})`);
  const late = lateness(level);
  return late === null ? lines : [...lines, `  ${late}`];
}

/** Formats the lines after the levels: the knee, how the run ended, and its price. */
export function endLines(result: BenchResult): readonly string[] {
  const lines: string[] = [];
  if (result.knee !== null) lines.push(kneeLine(result));
  if (result.end === "interrupted") lines.push("Interrupted: the result holds what was measured until then.");
  if (result.end === "budget")
    lines.push("Ended by --budget: the next session or request would have exceeded it.");
  lines.push(`Credits: ${result.credits} (estimated ${result.credits_estimated})`);
  return lines;
}

export function kneeLine({ scenario, knee }: BenchResult): string {
  if (knee === null) return "";
  const { below, above, rule } = knee;
  if (above === null) return `Knee: not reached up to ${loadName(scenario, below ?? 0)}; ${rule}`;
  const from = below === null ? "" : `between ${below} and `;
  return `Knee: ${from}${loadName(scenario, above)}; there ${rule}`;
}

export function differenceLine({
  load,
  metric,
  percentile,
  before,
  after,
  change,
  verdict,
}: Difference): string {
  const { label, unit } = METRICS[metric];
  const sign = change.value >= 0 ? "+" : "";
  const interval = `${shown(change.low, unit)} to ${shown(change.high, unit)}`;
  return `${load}  ${label} ${percentile}: ${shown(before, unit)} -> ${shown(after, unit)}, ${sign}${shown(change.value, unit)} (${interval}): ${verdict}`;
}

export function withInterval({ value, low, high }: Estimate, unit: string): string {
  return `${shown(value, unit)} (${shown(low, "")} to ${shown(high, "")})`;
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
