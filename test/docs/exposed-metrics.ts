import { Metrics } from "../../core/observe/metrics.js";
import { codeSpans, read, section, tableRows } from "./markdown.js";

let shown: ReadonlyMap<string, readonly string[]> | null = null;
let exposed: Promise<ReadonlySet<string>> | null = null;

/** Returns labels by metric name, as listed in docs/monitoring.md. */
export function shownLabels(): ReadonlyMap<string, readonly string[]> {
  shown ??= new Map(
    tableRows(section(read("docs/monitoring.md"), "## Metrics"))
      .flatMap(([names = ""]) => codeSpans(names))
      .map((text) => {
        const [, name = "", labels] = /^(\w+)(?:\{(.*)\})?$/.exec(text) ?? [];
        return [name, labels?.split(",") ?? []] as const;
      }),
  );
  return shown;
}

/** Returns the names of all metrics on the operator port. */
export function exposedMetrics(): Promise<ReadonlySet<string>> {
  exposed ??= namesOf();
  return exposed;
}

async function namesOf(): Promise<ReadonlySet<string>> {
  const text = await everyMetric().text();
  return new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1]!));
}

/** The service's metrics with all observers in use. */
function everyMetric(): Metrics {
  const metrics = new Metrics({ withProcess: true });
  metrics.observeSpool(() => 0);
  metrics.observeHeldSpeech(() => 0);
  metrics.observeDeviceErrors([], () => 0);
  metrics.observeRuns([1], () => [{ graph: "any", counts: [0, 0], sumMs: 0, rows: 0 }]);
  metrics.fleet.readProcesses(() => ({ capacity: 0, used: 0, oldestHeartbeatMs: 0 }));
  metrics.fleet.readCallCapacity(() => ({}));
  metrics.observeLiveLateness(() => new Map());
  return metrics;
}
