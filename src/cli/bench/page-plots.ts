import {
  type Colour,
  columns,
  interval,
  lastOf,
  limit,
  medianAndTail,
  type Panel,
  picture,
  rows,
  scale,
  text,
  ticksAt,
  ticksTo,
  WIDTH,
} from "../../plots/drawing.js";
import { PERCENTILES } from "./compare.js";
import { type BenchResult, type Distribution, MAIN_METRIC, METRICS, type MetricName } from "./result.js";

const HEIGHT = 200;
const LEFT = 52;

/** One result in a plot, under its name and colour. */
export interface Series {
  readonly name: string;
  readonly colour: Colour;
  readonly result: BenchResult;
}

/** Plots the median and p95 of the main metric by load, with the knee. */
export function loadPlot(series: readonly Series[]): string {
  const { scenario } = series[0]!.result;
  const metric = MAIN_METRIC[scenario];
  const all = series.flatMap(({ result }) => pointsOf(result, metric));
  const most = Math.max(...all.map(({ load }) => load));
  const ticks = ticksTo(Math.max(...all.map(({ p95 }) => p95)), 5);
  const by = scenario === "live" ? "sessions" : "requests a second";
  return picture(
    {
      title: `${METRICS[metric].short}, ${METRICS[metric].unit}, by ${by}`,
      entries: series.flatMap(({ name, colour }) => [
        { label: `${name} p50`, colour, mark: "line" as const },
        { label: "p95", colour, mark: "tail" as const },
      ]),
      results: [],
    },
    (top) => {
      const panel = panelAt(top);
      const x = scale([0, most], [panel.left, panel.right]);
      const y = scale([0, lastOf(ticks)], [panel.bottom, panel.top]);
      const twice = 2 * (pointsOf(series[0]!.result, metric)[0]?.p95 ?? 0);
      const knee =
        twice > lastOf(ticks)
          ? []
          : [
              limit(panel, y(twice)),
              text(panel.left + 6, y(twice) - 5, "twice p95 of the lowest load", { kind: "faint" }),
            ];
      return {
        parts: [
          ...rows(panel, y, ticks),
          ...columns(panel, x, ticksAt(all.map(({ load }) => load))),
          ...knee,
          ...series.flatMap(({ result, colour }) =>
            medianAndTail(
              pointsOf(result, metric).map(({ load, p50, p95 }) => ({
                x: x(load),
                median: y(p50),
                tail: y(p95),
              })),
              colour,
            ),
          ),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}

function pointsOf({ levels }: BenchResult, metric: MetricName) {
  return levels.flatMap(({ load, metrics }) => {
    const found = metrics[metric];
    return found === undefined ? [] : [{ load, p50: found.p50.value, p95: found.p95.value }];
  });
}

/** Plots the share of values up to each value, for one metric at the highest load. */
export function distributionPlot(series: readonly Series[], metric: MetricName): string {
  const found = series.flatMap(({ name, colour, result }) => {
    const distribution = result.levels.at(-1)?.metrics[metric];
    return distribution === undefined ? [] : [{ name, colour, distribution }];
  });
  const low = Math.min(0, ...found.map(({ distribution }) => distribution.histogram[0]![0]));
  // Without the cut at p99, a few extreme values would squeeze all others into a corner.
  const high = Math.max(...found.map(({ distribution }) => distribution.p99.value)) * 1.05;
  const ticks = ticksTo(high, 5);
  const { short, unit } = METRICS[metric];
  return picture(
    {
      title: `${short}${unit === "" ? "" : `, ${unit}`}: share of values`,
      entries: found.map(({ name, colour }) => ({ label: name, colour, mark: "line" as const })),
      results: [],
    },
    (top) => {
      const panel = panelAt(top);
      const x = scale([low, lastOf(ticks)], [panel.left, panel.right]);
      const y = scale([0, 1], [panel.bottom, panel.top]);
      const shares = [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, label: `${100 * at} %` }));
      return {
        parts: [
          ...rows(panel, y, shares),
          ...columns(panel, x, ticks),
          ...found.flatMap(({ colour, distribution }) => steps(distribution, x, y, colour)),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}

function steps(
  { count, histogram }: Distribution,
  x: (value: number) => number,
  y: (share: number) => number,
  colour: Colour,
): readonly string[] {
  let seen = 0;
  const points = histogram.map(([upTo, within]) => {
    seen += within;
    return `${x(upTo)},${y(seen / count)}`;
  });
  const start = `${x(histogram[0]![0])},${y(0)}`;
  return [`<polyline class="line ${colour}" stroke-width="2.5" points="${[start, ...points].join(" ")}"/>`];
}

/** Plots the median and p95 during the highest load. */
export function timelinePlot({ result, colour }: Series): string {
  const { levels, scenario } = result;
  const points = levels.at(-1)?.timeline ?? [];
  const { short, unit } = METRICS[MAIN_METRIC[scenario]];
  const ticks = ticksTo(Math.max(...points.map(({ p95 }) => p95)), 4);
  const seconds = ticksTo(Math.max(1, ...points.map(({ second }) => second)), 5);
  return picture(
    {
      title: `${short}, ${unit}, by second`,
      entries: [
        { label: "p50", colour, mark: "line" },
        { label: "p95", colour, mark: "tail" },
      ],
      results: [],
    },
    (top) => {
      const panel = panelAt(top);
      const x = scale([0, lastOf(seconds)], [panel.left, panel.right]);
      const y = scale([0, lastOf(ticks)], [panel.bottom, panel.top]);
      return {
        parts: [
          ...rows(panel, y, ticks),
          ...columns(panel, x, seconds),
          ...medianAndTail(
            points.map(({ second, p50, p95 }) => ({ x: x(second), median: y(p50), tail: y(p95) })),
            colour,
          ),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}

/** Plots percentiles of the main metric at the highest load, each with its interval. */
export function intervalPlot(series: readonly Series[]): string {
  const metric = MAIN_METRIC[series[0]!.result.scenario];
  const found = series.flatMap(({ name, colour, result }) => {
    const distribution = result.levels.at(-1)?.metrics[metric];
    return distribution === undefined ? [] : [{ name, colour, distribution }];
  });
  const ticks = ticksTo(Math.max(...found.map(({ distribution }) => distribution.p99.high)), 5);
  return picture(
    {
      title: `${METRICS[metric].short}, ${METRICS[metric].unit}, 95 % intervals`,
      entries: found.map(({ name, colour }) => ({ label: name, colour, mark: "line" as const })),
      results: [],
    },
    (top) => {
      const panel: Panel = { ...panelAt(top), bottom: top + 4 + PERCENTILES.length * 44 };
      const x = scale([0, lastOf(ticks)], [panel.left, panel.right]);
      return {
        parts: [
          ...columns(panel, x, ticks),
          ...PERCENTILES.flatMap((percentile, row) => [
            text(12, panel.top + row * 44 + 26, percentile),
            ...found.flatMap(({ colour, distribution }, nth) => {
              const { value, low, high } = distribution[percentile];
              const y = panel.top + row * 44 + 22 + 14 * (nth - (found.length - 1) / 2);
              return interval(y, { from: x(low), middle: x(value), to: x(high) }, colour);
            }),
          ]),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}

function panelAt(top: number): Panel {
  return { left: LEFT, right: WIDTH - 20, top: top + 4, bottom: top + 4 + HEIGHT };
}
