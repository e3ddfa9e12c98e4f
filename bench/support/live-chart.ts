import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Percentiles } from "./percentiles.js";

/** The repository's `bench/results`, seen from `dist/bench/support`. */
const PATH = fileURLToPath(new URL("../../../bench/results/live.svg", import.meta.url));

const SIZE = { width: 720, height: 400, left: 60, right: 150, top: 40, bottom: 50 } as const;
const LINES = [
  { name: "p50", colour: "#1b6ca8" },
  { name: "p95", colour: "#7a9e3c" },
  { name: "p99", colour: "#c2452d" },
] as const;

interface ChartFigure {
  readonly sessions: number;
  readonly finalLatencyMs: Percentiles | null;
}

/** Draws end of speech → final over the number of sessions as `bench/results/live.svg`. */
export async function drawLiveChart(figures: readonly ChartFigure[], reachMs: number): Promise<void> {
  await writeFile(PATH, liveChart(figures, reachMs));
}

/** Pure: the chart as SVG. Sessions on a square-root axis, so that few and many can both be read. */
function liveChart(figures: readonly ChartFigure[], reachMs: number): string {
  const most = Math.max(...figures.map(({ sessions }) => sessions), 1);
  // A round beyond saturation would flatten everything else.
  const highestMs = 2 * reachMs;
  const x = (sessions: number) =>
    SIZE.left + Math.sqrt(sessions / most) * (SIZE.width - SIZE.left - SIZE.right);
  const y = (ms: number) =>
    SIZE.height -
    SIZE.bottom -
    (Math.min(ms, highestMs) / highestMs) * (SIZE.height - SIZE.top - SIZE.bottom);
  const right = SIZE.width - SIZE.right;
  const grid = [0, 100, 200, 300, 400, 500, 600].filter((ms) => ms <= highestMs);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.width} ${SIZE.height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    `<text x="${SIZE.left}" y="22" font-size="14">End of speech to final, by paced live sessions</text>`,
    ...grid.map(
      (ms) =>
        `<line x1="${SIZE.left}" x2="${right}" y1="${y(ms)}" y2="${y(ms)}" stroke="#ddd"/>` +
        `<text x="${SIZE.left - 8}" y="${y(ms) + 4}" text-anchor="end">${ms}</text>`,
    ),
    `<text x="16" y="${SIZE.height / 2}" transform="rotate(-90 16 ${SIZE.height / 2})" text-anchor="middle">ms</text>`,
    `<line x1="${SIZE.left}" x2="${right}" y1="${y(reachMs)}" y2="${y(reachMs)}" stroke="#888" stroke-dasharray="4 4"/>`,
    ...figures.map(
      ({ sessions }) =>
        `<text x="${x(sessions)}" y="${SIZE.height - SIZE.bottom + 18}" text-anchor="middle">${sessions}</text>`,
    ),
    `<text x="${(SIZE.left + right) / 2}" y="${SIZE.height - 12}" text-anchor="middle">sessions</text>`,
    ...LINES.flatMap(({ name, colour }, index) => {
      const points = figures.flatMap(({ sessions, finalLatencyMs }) =>
        finalLatencyMs === null ? [] : [{ x: x(sessions), y: y(finalLatencyMs[name]) }],
      );
      return [
        `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.map((point) => `${point.x},${point.y}`).join(" ")}"/>`,
        ...points.map((point) => `<circle cx="${point.x}" cy="${point.y}" r="3" fill="${colour}"/>`),
        `<text x="${right + 14}" y="${SIZE.top + 16 + index * 18}" fill="${colour}">${name}</text>`,
      ];
    }),
    `<text x="${right + 14}" y="${y(reachMs) + 4}" fill="#666">${reachMs} ms</text>`,
    "</svg>",
  ];
  return `${parts.join("\n")}\n`;
}
