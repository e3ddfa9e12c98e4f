import {
  bar,
  columns,
  lastOf,
  type Panel,
  picture,
  scale,
  text,
  ticksTo,
  WIDTH,
} from "../../src/plots/drawing.js";
import { resultOf } from "./results.js";

interface FaultRounds {
  readonly rounds: number;
  readonly faults: readonly {
    readonly fault: string;
    readonly times: number;
    readonly longestMs: number;
    readonly failedAttempts: number;
    readonly reconnections: number;
  }[];
}

const ROW = 36;

/** Draws recovery of the whole fleet, repeated requests and new connections, by kind of fault. */
export function faultRoundsPlot(): string {
  const { faults, ...result } = resultOf<FaultRounds>("faults");
  const sorted = faults.toSorted((a, b) => b.longestMs - a.longestMs);
  const ticks = ticksTo((sorted[0]?.longestMs ?? 1_000) / 1_000, 5);
  return picture(
    {
      title: `${result.rounds} faults: until every process was ready, seconds`,
      entries: [{ label: "longest, with the fault's own time", colour: "a", mark: "bar" }],
      results: [result],
    },
    (top) => {
      const panel: Panel = { left: 12, right: WIDTH - 20, top, bottom: top + ROW * sorted.length };
      const x = scale([0, lastOf(ticks)], [panel.left, panel.right]);
      return {
        parts: [
          ...columns(panel, x, ticks),
          ...sorted.flatMap(({ fault, times, longestMs, failedAttempts, reconnections }, nth) => {
            const y = panel.top + nth * ROW;
            const repeated = `${failedAttempts} retries, ${reconnections} reconnects`;
            return [
              text(panel.left + 4, y + 16, `${fault}, ${times}×`),
              text(panel.right, y + 16, repeated, { anchor: "end", kind: "faint" }),
              bar({ x: panel.left, y: y + 22, width: x(longestMs / 1_000) - panel.left, height: 9 }, "a"),
            ];
          }),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}
