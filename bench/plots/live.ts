import {
  columns,
  curve,
  lastOf,
  limit,
  type Panel,
  picture,
  rows,
  scale,
  text,
  tick,
  ticksTo,
  WIDTH,
} from "../../src/plots/drawing.js";
import type { Percentiles } from "../support/percentiles.js";
import { resultOf } from "./results.js";

interface LiveResult {
  readonly highestSessionsWithin: { readonly p99Ms: number };
  readonly rounds: readonly {
    readonly sessions: number;
    readonly finalLatencyMs: Percentiles | null;
    readonly realTimeFactor: number;
    readonly residentMegabytes: number;
  }[];
}

interface PeerResult {
  readonly summary: readonly {
    readonly name: string;
    readonly latencies: readonly { readonly sessions: number; readonly finalLatencyMs: Percentiles | null }[];
  }[];
}

/** Draws end of speech to final by the number of sessions, up to saturation, compared with sherpa-onnx. */
export function finalsPlot(): string {
  const live = resultOf<LiveResult>("live");
  const peer = resultOf<PeerResult>("live-peer");
  const own = live.rounds.flatMap(({ sessions, finalLatencyMs }) =>
    finalLatencyMs === null ? [] : [{ sessions, ...finalLatencyMs }],
  );
  const theirs = bestPeer(peer);
  const all = [...own, ...theirs];
  const most = Math.max(...all.map(({ sessions }) => sessions));
  const ticks = ticksTo(Math.max(...all.map(({ p99 }) => p99)), 5);
  return picture(
    {
      title: "End of speech to final, ms, by live sessions",
      entries: [
        { label: "Dauys p50", colour: "a", mark: "line" },
        { label: "p99", colour: "a", mark: "tail" },
        { label: "sherpa-onnx p50", colour: "b", mark: "line" },
        { label: "p99", colour: "b", mark: "tail" },
      ],
      results: [live, peer],
    },
    (top) => {
      const panel: Panel = { left: 44, right: WIDTH - 20, top: top + 4, bottom: top + 214 };
      const x = scale([0, most], [panel.left, panel.right]);
      const y = scale([0, lastOf(ticks)], [panel.bottom, panel.top]);
      const line = (points: typeof all, of: "p50" | "p99", colour: "a" | "b") =>
        curve(
          points.map((point) => ({ x: x(point.sessions), y: y(point[of]) })),
          colour,
          of === "p50" ? "line" : "tail",
        );
      const limitMs = live.highestSessionsWithin.p99Ms;
      return {
        parts: [
          ...rows(panel, y, ticks),
          ...columns(
            panel,
            x,
            own.map(({ sessions }) => tick(sessions)),
          ),
          limit(panel, y(limitMs)),
          text(panel.left + 6, y(limitMs) - 5, `limit for p99: ${limitMs} ms`, { kind: "faint" }),
          ...line(theirs, "p99", "b"),
          ...line(theirs, "p50", "b"),
          ...line(own, "p99", "a"),
          ...line(own, "p50", "a"),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}

/** Returns the peer at its best: for each number of sessions, the step length with the lowest p50. */
function bestPeer({ summary }: PeerResult) {
  const rounds = summary
    .filter(({ name }) => name !== "dauys")
    .flatMap(({ latencies }) => latencies)
    .flatMap(({ sessions, finalLatencyMs }) =>
      finalLatencyMs === null ? [] : [{ sessions, ...finalLatencyMs }],
    );
  const counts = [...new Set(rounds.map(({ sessions }) => sessions))];
  return counts.map((count) =>
    rounds
      .filter(({ sessions }) => sessions === count)
      .reduce((best, one) => (one.p50 < best.p50 ? one : best)),
  );
}

/** Draws CPU of one session, and memory of the whole service, by the number of sessions. */
export function sessionCostPlot(): string {
  const live = resultOf<LiveResult>("live");
  const most = Math.max(...live.rounds.map(({ sessions }) => sessions));
  return picture({ title: "Cost of live sessions, by their number", entries: [], results: [live] }, (top) => {
    const panelAt = (start: number): Panel => ({
      left: 44,
      right: WIDTH - 20,
      top: start + 24,
      bottom: start + 124,
    });
    const panels = [
      { name: "CPU of one session, % of a core", of: live.rounds.map((round) => 100 * round.realTimeFactor) },
      { name: "memory of the service, MB", of: live.rounds.map((round) => round.residentMegabytes) },
    ].map(({ name, of }, nth) => {
      const panel = panelAt(top + nth * 164);
      const ticks = ticksTo(Math.max(...of), 4);
      const x = scale([0, most], [panel.left, panel.right]);
      const y = scale([0, lastOf(ticks)], [panel.bottom, panel.top]);
      return [
        text(12, panel.top - 12, name),
        ...rows(panel, y, ticks),
        ...columns(
          panel,
          x,
          live.rounds.map(({ sessions }) => tick(sessions)),
        ),
        ...curve(
          live.rounds.map(({ sessions }, at) => ({ x: x(sessions), y: y(of[at] ?? 0) })),
          "a",
        ),
      ];
    });
    return { parts: panels.flat(), bottom: panelAt(top + 164).bottom + 28 };
  });
}
