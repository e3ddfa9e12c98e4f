import type { BenchResult, MetricName } from "../../src/cli/bench/result.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { benched } from "../support/bench-command.js";
import { creditDevelopment, startServiceProcess } from "../support/service-process.js";

/** A setting with several values, and the measurement that it affects. */
interface Tuned {
  readonly setting: string;
  readonly metric: MetricName;
  readonly values: readonly {
    readonly value: string;
    readonly environment: Readonly<Record<string, string>>;
    readonly options: readonly string[];
  }[];
}

const LIVE = ["--sessions", "4", "--minutes", "0.4"];
const SPEECH = ["--scenario", "speech", "--rate", "0.5", "--minutes", "0.5"];
const FILES = ["--scenario", "files", "--rate", "60", "--minutes", "0.4"];

const TUNED: readonly Tuned[] = [
  {
    setting: "eou_ms",
    metric: "final",
    values: ["100", "200", "500"].map((value) => ({
      ...{ value, environment: {}, options: [...LIVE, "--eou-ms", value] },
    })),
  },
  {
    setting: "SENTENCE_CACHE_MB",
    metric: "first_sound",
    values: ["0", "64"].map((value) => ({
      ...{ value, environment: { SENTENCE_CACHE_MB: value }, options: SPEECH },
    })),
  },
  {
    setting: "FILE_WORKERS",
    metric: "response",
    values: ["1", "2"].map((value) => ({
      ...{ value, environment: { FILE_WORKERS: value }, options: FILES },
    })),
  },
];

/**
 * `npm run bench -- tuning`: results of `dauys bench` for some settings of a service, each value with a new
 * service, for docs/tuning.md. Takes five minutes.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const settings = [];
  for (const { setting, metric, values } of smoke ? TUNED.slice(0, 1) : TUNED) {
    const runs = [];
    for (const { value, environment, options } of smoke ? values.slice(0, 1) : values) {
      const result = await measured(environment, smoke ? [...options, "--minutes", "0.001"] : options);
      const [level] = result.levels;
      const { p50, p95, count } = level!.metrics[metric]!;
      console.log(
        `${setting} ${value}: ${metric} p50 ${p50.value.toFixed(1)}, p95 ${p95.value.toFixed(1)} (${count})`,
      );
      runs.push({ value, count, p50, p95, failed: level!.failed, options });
    }
    settings.push({ setting, metric, runs });
  }
  if (!smoke) await saveResult("tuning", { settings });
}

async function measured(
  environment: Readonly<Record<string, string>>,
  options: readonly string[],
): Promise<BenchResult> {
  const service = await startServiceProcess({
    LIVE_PER_ORG: "1000",
    FILES_PER_ORG: "1000",
    MODEL_PRELOAD: "true",
    ...environment,
  });
  try {
    await creditDevelopment(service, 1_000_000_000);
    return await benched(service.url, service.key, options);
  } finally {
    await service.stop();
  }
}
