import type { Estimate } from "../../core/domain/statistics/bootstrap.js";
import { METRICS, type MetricName } from "../../src/cli/bench/result.js";
import {
  columns,
  interval,
  lastOf,
  type Panel,
  picture,
  scale,
  text,
  ticksTo,
  WIDTH,
} from "../../src/plots/drawing.js";
import { resultOf } from "./results.js";

interface TuningResult {
  readonly settings: readonly {
    readonly setting: string;
    readonly metric: MetricName;
    readonly runs: readonly { readonly value: string; readonly p50: Estimate; readonly p95: Estimate }[];
  }[];
}

const ROW = 46;

/** Draws the measurement that a setting affects, for each of its values: median and p95 with intervals. */
export function tuningPlot(name: string): string {
  const result = resultOf<TuningResult>("tuning");
  const { setting, metric, runs } = result.settings.find((each) => each.setting === name)!;
  const { short, unit } = METRICS[metric];
  const ticks = ticksTo(Math.max(...runs.map(({ p95 }) => p95.high)), 5);
  return picture(
    {
      title: `${short}, ${unit}, by ${setting}`,
      entries: [
        { label: "p50", colour: "a", mark: "dot" },
        { label: "p95", colour: "b", mark: "dot" },
      ],
      results: [result],
    },
    (top) => {
      const panel: Panel = { left: 60, right: WIDTH - 20, top: top + 4, bottom: top + 4 + runs.length * ROW };
      const x = scale([0, lastOf(ticks)], [panel.left, panel.right]);
      const drawn = ({ value, low, high }: Estimate) => ({ from: x(low), middle: x(value), to: x(high) });
      return {
        parts: [
          ...columns(panel, x, ticks),
          ...runs.flatMap(({ value, p50, p95 }, row) => {
            const y = panel.top + row * ROW + ROW / 2;
            return [
              text(12, y + 5, value),
              ...interval(y - 7, drawn(p50), "a"),
              ...interval(y + 7, drawn(p95), "b"),
            ];
          }),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}
