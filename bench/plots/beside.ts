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

interface BesideResult {
  readonly parameters: { readonly base: string };
  readonly ratios: readonly {
    readonly name: string;
    readonly ratio: number;
    readonly lowest: number;
    readonly highest: number;
  }[];
}

/** The unit at the end of a measurement's name; ratios have none. */
const UNIT = / (?:ms|µs|s)(?: .*)?$/;
const ROW = 26;

/** Draws CPU and latency of every path as ratios to an earlier commit. */
export function besidePlot(): string {
  const { parameters, ratios, ...result } = resultOf<BesideResult>("beside");
  const ticks = ticksTo(Math.max(...ratios.map(({ highest }) => highest)), 3);
  return picture(
    {
      title: `Ratios to ${parameters.base}: below 1 is better`,
      entries: [{ label: "mean ratio, range between turns", colour: "a", mark: "line" }],
      results: [result],
    },
    (top) => {
      const panel: Panel = { left: 172, right: WIDTH - 20, top, bottom: top + ROW * ratios.length };
      const x = scale([0, lastOf(ticks)], [panel.left, panel.right]);
      return {
        parts: [
          ...columns(panel, x, ticks),
          ...ratios.flatMap(({ name, ratio, lowest, highest }, nth) => {
            const y = panel.top + (nth + 0.5) * ROW;
            return [
              text(panel.left - 8, y + 5, name.replace(UNIT, ""), { anchor: "end" }),
              ...interval(y, { from: x(lowest), middle: x(ratio), to: x(highest) }, "a"),
            ];
          }),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}
