import type { Estimate } from "../../../core/domain/statistics/bootstrap.js";
import type { WireName } from "./live-wires.js";

export const SCENARIOS = ["live", "speech", "files", "requests"] as const;

export type Scenario = (typeof SCENARIOS)[number];

/** Metrics by their names in a result; `short` is used in plot titles. */
export const METRICS = {
  final: { label: "End of speech to final", short: "Finals", unit: "ms", isBetterLow: true },
  first_partial: {
    label: "Start of speech to first partial",
    short: "First partials",
    unit: "ms",
    isBetterLow: true,
  },
  partial_lag: {
    label: "Lag of partials behind the audio",
    short: "Lag of partials",
    unit: "ms",
    isBetterLow: true,
  },
  ready: {
    label: "Connection until the session is ready",
    short: "Ready sessions",
    unit: "ms",
    isBetterLow: true,
  },
  first_sound: { label: "Request to first sound", short: "First sound", unit: "ms", isBetterLow: true },
  first_audio: {
    label: "Request to first byte of audio",
    short: "First audio",
    unit: "ms",
    isBetterLow: true,
  },
  real_time_factor: {
    label: "Synthesis time per second of audio",
    short: "Time per second of audio",
    unit: "s",
    isBetterLow: true,
  },
  response: { label: "Request to complete response", short: "Responses", unit: "ms", isBetterLow: true },
  speed: {
    label: "Seconds of audio transcribed per second",
    short: "Speed of files",
    unit: "",
    isBetterLow: false,
  },
} as const;

export type MetricName = keyof typeof METRICS;

/** The metric that decides where the knee is. */
export const MAIN_METRIC: Readonly<Record<Scenario, MetricName>> = {
  live: "final",
  speech: "first_sound",
  files: "response",
  requests: "response",
};

/** Percentiles with 95 % intervals, and counts of values up to each bound. */
export interface Distribution {
  readonly count: number;
  readonly p50: Estimate;
  readonly p95: Estimate;
  readonly p99: Estimate;
  readonly max: number;
  readonly histogram: readonly (readonly [upTo: number, count: number])[];
}

/** The main metric during a part of the run. */
export interface TimelinePoint {
  readonly second: number;
  readonly p50: number;
  readonly p95: number;
}

/** Measurements at one load, which was applied for some time. */
export interface LevelResult {
  /** Number of concurrent sessions, or requests per second. */
  readonly load: number;
  readonly seconds: number;
  readonly started: number;
  readonly failed: number;
  /** Failures of each kind, with the reason of the first. */
  readonly failures: readonly { readonly reason: string; readonly count: number }[];
  /** Number of sentences without a final. */
  readonly missed: number;
  readonly sentences: number;
  /** Number of pauses in a player that starts with the first sound. */
  readonly underruns: number;
  readonly metrics: Readonly<Partial<Record<MetricName, Distribution>>>;
  readonly word_error_rate: Estimate | null;
  readonly timeline: readonly TimelinePoint[];
  /** How late the bench itself sent messages, in milliseconds; then its CPU time in percent of one core. */
  readonly own_lateness: { readonly p50: number; readonly p99: number };
  readonly own_cpu_percent: number;
  readonly credits: number;
}

export interface Knee {
  readonly rule: string;
  /** The highest load below the knee, and the lowest load above it; null if there is none. */
  readonly below: number | null;
  readonly above: number | null;
}

/** The saved result of a run. */
export interface BenchResult {
  readonly format: typeof RESULT_FORMAT;
  readonly date: string;
  readonly url: string;
  readonly scenario: Scenario;
  readonly wire: WireName;
  readonly parameters: Readonly<Record<string, string | number | boolean | null>>;
  readonly clips: readonly {
    readonly name: string;
    readonly seconds: number;
    readonly licence: string | null;
  }[];
  readonly machine: { readonly cpu: string; readonly cores: number };
  readonly node: string;
  readonly end: "complete" | "interrupted" | "budget";
  readonly credits_estimated: number;
  readonly credits: number;
  readonly levels: readonly LevelResult[];
  readonly knee: Knee | null;
}

export const RESULT_FORMAT = "dauys-bench-1";

/** Parses a saved result. @throws {Error} with the name of the file if it is not a result */
export function parseResult(text: string, name: string): BenchResult {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`cannot read ${name}: it is not JSON`, { cause: error });
  }
  const format = (value as { readonly format?: unknown } | null)?.format;
  if (format === RESULT_FORMAT) return value as BenchResult;
  throw new Error(
    `cannot read ${name}: expected a result with format "${RESULT_FORMAT}", received ${JSON.stringify(format ?? null)}`,
  );
}
