import { type Difference, PERCENTILES } from "./compare.js";
import { distributionPlot, intervalPlot, loadPlot, type Series, timelinePlot } from "./page-plots.js";
import { PAGE_STYLE } from "./page-style.js";
import { type BenchResult, type LevelResult, MAIN_METRIC, METRICS } from "./result.js";
import {
  endLines,
  kneeLine,
  lateness,
  loadName,
  metricNames,
  percent,
  shown,
  withInterval,
} from "./summary.js";

/**
 * Draws a result as one HTML page without external resources: light and dark, for screens from 320 px and
 * paper.
 *
 * @param baseline the result with which `differences` compares this one, or null
 */
export function resultPage(
  result: BenchResult,
  baseline: BenchResult | null,
  differences: readonly Difference[],
): string {
  const series: Series[] = [{ name: "now", colour: "a", result }];
  if (baseline !== null && differences.length > 0)
    series.push({ name: "before", colour: "b", result: baseline });
  const last = result.levels.at(-1);
  const parts = [
    `<h1>${escaped(titleOf(result))}</h1>`,
    `<p class="origin">${originOf(result).map(escaped).join(" · ")}</p>`,
    last === undefined ? "<p>Nothing was measured.</p>" : cards(result, last),
    ...(result.end === "complete" ? [] : [`<p class="note">${escaped(endLines(result).at(-2) ?? "")}</p>`]),
    ...(last === undefined || lateness(last) === null
      ? []
      : [`<p class="note">${escaped(lateness(last)!)}</p>`]),
    ...(result.knee === null ? [] : [`<p class="note">${escaped(kneeLine(result))}</p>`]),
    ...(last === undefined
      ? []
      : [...byLoad(series), `<h2>At ${escaped(loadName(result.scenario, last.load))}</h2>`]),
    ...(last === undefined ? [] : [`<div class="plots">${plots(series, last).join("\n")}</div>`]),
    ...(differences.length === 0 ? [] : [differenceTable(differences)]),
    ...result.levels.map((level) => levelTable(result, level)),
    details(result),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(titleOf(result))}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
${parts.join("\n")}
</main>
</body>
</html>
`;
}

function titleOf({ scenario, url }: BenchResult): string {
  const names = {
    live: "Live transcription",
    speech: "Speech",
    files: "File transcription",
    requests: "Requests",
  };
  return `${names[scenario]} of ${new URL(url).host}`;
}

function originOf({ date, wire, machine, node }: BenchResult): readonly string[] {
  const when = `${date.slice(0, 16).replace("T", " ")} UTC`;
  return [when, `protocol ${wire}`, `measured from ${machine.cpu}, ${machine.cores} cores, Node ${node}`];
}

function cards({ scenario }: BenchResult, level: LevelResult): string {
  const main = MAIN_METRIC[scenario];
  const { label, unit } = METRICS[main];
  const values = level.metrics[main];
  const items: (readonly [name: string, value: string])[] = [
    [`${label}, p50`, values === undefined ? "none" : shown(values.p50.value, unit)],
    ["p95", values === undefined ? "none" : shown(values.p95.value, unit)],
    ["load", loadName(scenario, level.load)],
    ["failed", `${level.failed} of ${level.started}`],
  ];
  if (scenario === "live") items.push(["finals missing", `${level.missed} of ${level.sentences}`]);
  if (scenario === "speech") items.push(["underruns", String(level.underruns)]);
  if (level.word_error_rate !== null) items.push(["words wrong", percent(level.word_error_rate.value)]);
  const cells = items.map(
    ([name, value]) => `<div><dt>${escaped(name)}</dt><dd>${escaped(value)}</dd></div>`,
  );
  return `<dl class="cards">${cells.join("")}</dl>`;
}

/** Returns the plots of the highest load. */
function plots(series: readonly Series[], last: LevelResult): readonly string[] {
  const { scenario } = series[0]!.result;
  const main = MAIN_METRIC[scenario];
  const hasMain = last.metrics[main] !== undefined;
  const drawn = [
    ...(hasMain ? [intervalPlot(series)] : []),
    ...metricNames(last).map((metric) => distributionPlot(series, metric)),
    ...(last.timeline.length > 1 ? [timelinePlot(series[0]!)] : []),
  ];
  return drawn.map(figure);
}

function figure(svg: string): string {
  return `<figure>${svg}</figure>`;
}

function byLoad(series: readonly Series[]): readonly string[] {
  const { levels, scenario } = series[0]!.result;
  const measured = levels.filter(({ metrics }) => metrics[MAIN_METRIC[scenario]] !== undefined);
  return measured.length < 2 ? [] : [`<div class="plots">${figure(loadPlot(series))}</div>`];
}

function differenceTable(differences: readonly Difference[]): string {
  // The JSON also has p99. With several loads, it would make the table longer than the rest of the page.
  const main = differences.filter(({ percentile }) => percentile !== "p99");
  const rows = main.map(({ load, metric, percentile, before, after, change, verdict }) => {
    const { label, unit } = METRICS[metric];
    return [
      String(load),
      `${label}, ${percentile}`,
      shown(before, unit),
      shown(after, unit),
      withInterval(change, unit),
      verdict,
    ];
  });
  return `<h2>Compared</h2>\n${table(["Load", "Metric", "Before", "Now", "Change (95 %)", ""], rows)}`;
}

function levelTable({ scenario }: BenchResult, level: LevelResult): string {
  const rows = metricNames(level).map((name) => {
    const { label, unit } = METRICS[name];
    const found = level.metrics[name]!;
    const cells = PERCENTILES.map((percentile) => withInterval(found[percentile], unit));
    return [label, String(found.count), ...cells, shown(found.max, unit)];
  });
  const failures = level.failures.map(({ reason, count }) => `<li>${count} × ${escaped(reason)}</li>`);
  return [
    `<h2>${escaped(loadName(scenario, level.load))}</h2>`,
    table(["Figure", "Values", "p50", "p95", "p99", "Highest"], rows),
    ...(failures.length === 0 ? [] : [`<p>Failed:</p><ul>${failures.join("")}</ul>`]),
    `<p class="origin">${escaped(ownFigures(level))}</p>`,
  ].join("\n");
}

function ownFigures({ seconds, own_lateness, own_cpu_percent, credits }: LevelResult): string {
  const late = `${shown(own_lateness.p50, "ms")} late (p50), ${shown(own_lateness.p99, "ms")} (p99)`;
  return `${Math.round(seconds)} s, ${credits} credits. The bench sent ${late} and used ${shown(own_cpu_percent, "%")} of a core.`;
}

function details({ parameters, clips }: BenchResult): string {
  const set = Object.entries(parameters).map(([name, value]) => `${name} ${value ?? "default"}`);
  const spoken = clips.map(
    ({ name, seconds, licence }) =>
      `${name} (${seconds.toFixed(1)} s${licence === null ? "" : `, ${licence}`})`,
  );
  return `<h2>How it was measured</h2>
<p>The schedule is fixed before the first response: delays count from the moment when a request, or the last sample of
a sentence, was due. Intervals are 95 %, from a bootstrap over sessions or requests.</p>
<p class="origin">${escaped(set.join(", "))}</p>
<p class="origin">Clips: ${escaped(spoken.join(", "))}</p>`;
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = titles.map((title) => `<th scope="col">${escaped(title)}</th>`).join("");
  const body = rows.map(
    (row) =>
      `<tr>${row.map((cell, nth) => `<td data-title="${escaped(titles[nth] ?? "")}">${escaped(cell)}</td>`).join("")}</tr>`,
  );
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join("\n")}</tbody></table>`;
}

function escaped(content: string): string {
  return content.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
}
