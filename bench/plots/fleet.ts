import {
  bar,
  columns,
  interval,
  lastOf,
  legend,
  type Panel,
  picture,
  scale,
  text,
  tick,
  ticksTo,
  WIDTH,
} from "../../src/plots/drawing.js";
import type { Percentiles } from "../support/percentiles.js";
import { resultOf } from "./results.js";

interface FleetResult {
  readonly rounds: readonly {
    readonly engines: number;
    readonly sessions: number;
    readonly finalLatencyMs: Percentiles;
    readonly cpuMicrosPerFrame: { readonly front: number; readonly bus: number; readonly engines: number };
  }[];
}

interface FaultsResult {
  readonly parameters: { readonly sessions: number };
  readonly faults: readonly {
    readonly fault: string;
    readonly times: number;
    readonly noticedAfterMs: { readonly p50: number; readonly most: number };
    readonly finalAfterMs: { readonly p50: number; readonly p95: number; readonly most: number };
  }[];
}

/** Names of the faults in the plot. */
const FAULTS: Readonly<Record<string, string>> = {
  "a node was killed": "engine process killed",
  "a node is frozen": "engine process frozen",
  "a node ends": "engine process stopped (SIGTERM)",
  "the bus was away": "bus restarted",
};
const ROW = 34;

/** Draws finals and CPU with the engines in other processes. */
export function fleetPlot(): string {
  const fleet = resultOf<FleetResult>("fleet");
  const counts = [...new Set(fleet.rounds.map(({ sessions }) => sessions))];
  const engines = [...new Set(fleet.rounds.map((round) => round.engines))];
  const nameOf = (count: number) =>
    count === 0 ? "one process" : count === 1 ? "1 engine" : `${count} engines`;
  const most = counts.at(-1) ?? 0;
  const highestMs =
    10 * Math.ceil(Math.max(...fleet.rounds.map(({ finalLatencyMs }) => finalLatencyMs.p99)) / 10);
  const lowestMs =
    10 * Math.floor(Math.min(...fleet.rounds.map(({ finalLatencyMs }) => finalLatencyMs.p50)) / 10 - 0.5);
  return picture(
    {
      title: "Engines in other processes: finals, ms",
      entries: counts.map((count, nth) => ({
        label: `${count} sessions${nth === 0 ? ": p50 to p95, p99" : ""}`,
        colour: nth === 0 ? "b" : "a",
        mark: "line",
      })),
      results: [fleet],
    },
    (top) => {
      const panel: Panel = {
        left: 104,
        right: WIDTH - 20,
        top: top + 2,
        bottom: top + 2 + ROW * engines.length,
      };
      const x = scale([lowestMs, highestMs], [panel.left, panel.right]);
      const steps = ticksTo(highestMs - lowestMs, 4).map(({ at }) => tick(at + lowestMs));
      const finals = fleet.rounds.flatMap(
        ({ engines: count, sessions, finalLatencyMs: { p50, p95, p99 } }) => {
          const isMost = sessions === most;
          const y = panel.top + ROW * (engines.indexOf(count) + 0.5) + (isMost ? 7 : -7);
          return interval(y, { from: x(p50), middle: x(p50), to: x(p95), end: x(p99) }, isMost ? "a" : "b");
        },
      );
      const cpu = cpuPanel(fleet, { engines, most, nameOf }, panel.bottom + 48);
      const labels = engines.map((count, nth) =>
        text(panel.left - 8, panel.top + ROW * (nth + 0.5) + 5, nameOf(count), { anchor: "end" }),
      );
      return { parts: [...columns(panel, x, steps), ...labels, ...finals, ...cpu.parts], bottom: cpu.bottom };
    },
  );
}

/** Draws CPU for 40 ms of audio, split by where it is used. */
function cpuPanel(
  { rounds }: FleetResult,
  { engines, most, nameOf }: { engines: readonly number[]; most: number; nameOf: (count: number) => string },
  top: number,
): { readonly parts: readonly string[]; readonly bottom: number } {
  const shown = rounds.filter(({ sessions }) => sessions === most);
  const sums = shown.map(({ cpuMicrosPerFrame: { front, bus, engines: own } }) => front + bus + own);
  const ticks = ticksTo(Math.max(...sums) / 1_000, 4);
  const head = legend(
    [
      { label: "gateway, or all", colour: "a", mark: "bar" },
      { label: "bus", colour: "c", mark: "bar" },
      { label: "engines", colour: "b", mark: "bar" },
    ],
    12,
    top + 20,
  );
  const panel: Panel = {
    left: 104,
    right: WIDTH - 20,
    top: head.bottom,
    bottom: head.bottom + 26 * engines.length,
  };
  const x = scale([0, lastOf(ticks)], [panel.left, panel.right]);
  const bars = shown.flatMap(({ engines: count, cpuMicrosPerFrame: { front, bus, engines: own } }) => {
    const y = panel.top + 26 * engines.indexOf(count);
    let from = 0;
    const stacked = (
      [
        ["a", front],
        ["c", bus],
        ["b", own],
      ] as const
    ).map(([colour, micros]) => {
      const left = x(from / 1_000);
      from += micros;
      return bar({ x: left, y: y + 6, width: x(from / 1_000) - left, height: 14 }, colour);
    });
    return [text(panel.left - 8, y + 18, nameOf(count), { anchor: "end" }), ...stacked];
  });
  return {
    parts: [
      `<text x="12" y="${top}" font-size="15" font-weight="600">CPU for 40 ms of audio at ${most} sessions, ms</text>`,
      ...head.parts,
      ...columns(panel, x, ticks),
      ...bars,
    ],
    bottom: panel.bottom + 28,
  };
}

/** Draws the delay until a fault is noticed, and of finals, by kind of fault. */
export function faultsPlot(): string {
  const { faults, ...result } = resultOf<FaultsResult>("fleet-faults");
  const highest =
    Math.max(...faults.flatMap((one) => [one.finalAfterMs.most, one.noticedAfterMs.most])) / 1_000;
  const ticks = ticksTo(highest, 5);
  return picture(
    {
      title: "After a fault: finals and recovery, seconds",
      entries: [
        { label: "end of speech to final: p50 to p95, latest", colour: "a", mark: "line" },
        { label: "fault until sessions move: p50 to slowest", colour: "b", mark: "line" },
      ],
      results: [result],
    },
    (top) => {
      const row = 52;
      const panel: Panel = {
        left: 12,
        right: WIDTH - 20,
        top: top + 2,
        bottom: top + 2 + row * faults.length,
      };
      const x = scale([0, lastOf(ticks)], [panel.left + 6, panel.right]);
      const seconds = (ms: number) => x(ms / 1_000);
      return {
        parts: [
          ...columns(panel, x, ticks),
          ...faults.flatMap(({ fault, times, noticedAfterMs, finalAfterMs: { p50, p95, most } }, nth) => {
            const y = panel.top + nth * row;
            return [
              text(panel.left + 10, y + 18, `${FAULTS[fault] ?? fault}, ${times} times`),
              ...interval(
                y + 29,
                { from: seconds(p50), middle: seconds(p50), to: seconds(p95), end: seconds(most) },
                "a",
              ),
              ...interval(
                y + 42,
                {
                  from: seconds(noticedAfterMs.p50),
                  middle: seconds(noticedAfterMs.p50),
                  to: seconds(noticedAfterMs.most),
                },
                "b",
              ),
            ];
          }),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}
