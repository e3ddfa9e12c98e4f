import { type Colour, type Panel, picture, rows, scale, text, tick, WIDTH } from "../../src/plots/drawing.js";
import { quantile, resultOf } from "./results.js";

interface SoakResult {
  readonly parameters: { readonly rounds: number };
  readonly drifts: readonly { readonly quantity: string; readonly median: number; readonly share: number }[];
  readonly readings: Readonly<Record<string, readonly number[]>>;
}

/** Quantities in the plot, from the top. */
const QUANTITIES: readonly (readonly [name: string, label: string])[] = [
  ["residentMib", "resident memory, MiB"],
  ["heapMib", "JavaScript heap, MiB"],
  ["handles", "handles"],
  ["descriptors", "file descriptors"],
  ["sockets", "sockets"],
  ["databaseConnections", "database connections"],
  ["loopDelayMs", "event loop delay p99, ms"],
  ["temporary", "temporary and spooled files"],
];
const ROW = 58;
/** Number of points in a curve, each the median of the readings around it. */
const POINTS = 60;

/**
 * Draws memory, handles, files, connections and event loop delay over a soak in real time and one in fast
 * motion.
 */
export function soakPlot(): string {
  const runs = [
    { result: resultOf<SoakResult>("soak"), colour: "a" as const, name: "real time" },
    { result: resultOf<SoakResult>("soak-fast"), colour: "b" as const, name: "a day in fast motion" },
  ];
  return picture(
    {
      title: "Soak: from start to end",
      entries: runs.map(({ result, colour, name }) => ({
        label: `${name}: ${lengthOf(result)}`,
        colour,
        mark: "line",
      })),
      results: runs.map(({ result }) => result),
    },
    (top) => ({
      parts: QUANTITIES.flatMap(([name, label], nth) => {
        const from = top + 18 + nth * ROW;
        const panel: Panel = { left: 46, right: WIDTH - 16, top: from, bottom: from + ROW - 26 };
        const curves = runs.map(({ result, colour }) => ({ colour, points: pointsOf(result, name) }));
        const highest = niceAbove(Math.max(1, ...curves.flatMap(({ points }) => points)));
        const y = scale([0, highest], [panel.bottom, panel.top]);
        return [
          text(panel.left, panel.top - 5, label),
          ...runs.map(({ result, colour }, index) =>
            text(WIDTH - 16 - (1 - index) * 76, panel.top - 5, driftOf(result, name), {
              anchor: "end",
              kind: colour,
            }),
          ),
          ...rows(panel, y, [tick(0), tick(highest)]),
          ...curves.map(({ colour, points }) => line(points, panel, y, colour)),
        ];
      }),
      bottom: top + 18 + QUANTITIES.length * ROW - 8,
    }),
  );
}

function lengthOf({ readings, parameters }: SoakResult): string {
  return `${Math.round((readings["seconds"]?.at(-1) ?? 0) / 60)} min, ${parameters.rounds} rounds`;
}

function pointsOf({ readings }: SoakResult, name: string): readonly number[] {
  const own = valuesOf(readings, name);
  const size = Math.max(1, Math.ceil(own.length / POINTS));
  const points: number[] = [];
  for (let from = 0; from < own.length; from += size)
    points.push(quantile(own.slice(from, from + size), 0.5));
  return points;
}

function valuesOf(readings: SoakResult["readings"], name: string): readonly number[] {
  const own = readings[name] ?? [];
  return name === "temporary" ? own.map((count, nth) => count + (readings["spooled"]?.[nth] ?? 0)) : own;
}

/**
 * Returns the growth from the second quarter to the end, in per cent of the median; a count if the median is
 * 0.
 */
function driftOf({ drifts }: SoakResult, name: string): string {
  const drift = drifts.find(({ quantity }) => quantity === name);
  if (drift === undefined) return "";
  const value = drift.median === 0 ? drift.share : 100 * drift.share;
  const rounded = value.toFixed(1).replace("-0.0", "0.0").replace("-", "−");
  return `${value >= 0.05 ? "+" : ""}${rounded}${drift.median === 0 ? "" : " %"}`;
}

function line(points: readonly number[], panel: Panel, y: (value: number) => number, colour: Colour): string {
  const x = scale([0, Math.max(1, points.length - 1)], [panel.left, panel.right]);
  const path = points.map((value, nth) => `${x(nth)},${y(value)}`).join(" ");
  return `<polyline class="line ${colour}" stroke-width="2" points="${path}"/>`;
}

/** Returns the smallest of 1, 2, 4, 5 and 8 times a power of ten at or above the value. */
function niceAbove(value: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(value));
  return magnitude * ([1, 2, 4, 5, 8].find((factor) => factor * magnitude >= value) ?? 10);
}
