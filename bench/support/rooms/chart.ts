import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { groupBy } from "../../evaluate/group-by.js";
import { titleOf } from "./beds.js";
import { type Cell, delayPercentiles } from "./cells.js";
import { OURS, SILERO } from "./hearers.js";
import { PATIENCE_MS } from "./judge.js";

/** The repository's `bench/results`, seen from `dist/bench/support/rooms`. */
const PATH = fileURLToPath(new URL("../../../../bench/results/rooms.svg", import.meta.url));

/** Levels that every room but the quiet one has. */
const SHOWN_DB = [20, 15, 10];
const SIZE = { width: 760, left: 90, top: 74, row: 26, bottom: 44 } as const;
const DELAYS = { from: SIZE.left, to: 490 } as const;
const SHARES = { from: 530, to: SIZE.width - 20 } as const;
const SYSTEMS = [
  { name: OURS, label: "Dauys", style: "ours", shift: -5 },
  { name: SILERO, label: "Silero VAD 6", style: "peer", shift: 5 },
] as const;
const STYLE = `
  text { fill: #222; } .grid { stroke: #ddd; } .back { fill: #fff; }
  .ours { stroke: #1b6ca8; fill: #1b6ca8; } .peer { stroke: #c2452d; fill: #c2452d; } text.ours, text.peer { stroke: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; } .grid { stroke: #444; } .back { fill: #16181c; }
    .ours { stroke: #5cb3f0; fill: #5cb3f0; } .peer { stroke: #f08a72; fill: #f08a72; }
  }`;

/** Draws how utterances end in each room as `bench/results/rooms.svg`. */
export async function drawRoomChart(cells: readonly Cell[]): Promise<void> {
  await writeFile(PATH, roomChart(cells));
}

/**
 * Renders the chart as SVG: for each room a line from p50 to p90, and the share of utterances that do not
 * end. Both systems are voice activity with a rule, so an utterance in which the recogniser understood
 * nothing counts as ended.
 */
function roomChart(cells: readonly Cell[]): string {
  const shown = cells.filter(({ levelDb }) => levelDb === null || SHOWN_DB.includes(levelDb));
  const rooms = [...groupBy(shown, ({ room }) => room)];
  const height = SIZE.top + rooms.length * SIZE.row + SIZE.bottom;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.width} ${height}" font-family="sans-serif" font-size="12">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="back" width="100%" height="100%"/>`,
    `<text x="${SIZE.left}" y="22" font-size="14">End of speech to end of utterance, background 20, 15 and 10 dB below the speaker</text>`,
    `<text x="${DELAYS.from}" y="44">delay in audio time, p50 to p90, ms</text>`,
    `<text x="${SHARES.from}" y="44">no end within 2 s, %</text>`,
    ...SYSTEMS.map(
      ({ label, style }, nth) =>
        `<text class="${style}" x="${DELAYS.to - 130 + nth * 50}" y="44">${label}</text>`,
    ),
    ...grid(height),
    ...rooms.flatMap(([room, own], index) => rowParts(room, own, SIZE.top + (index + 0.5) * SIZE.row)),
    "</svg>",
  ];
  return `${parts.join("\n")}\n`;
}

function grid(height: number): string[] {
  const end = height - SIZE.bottom;
  const line = (x: number, label: string) =>
    `<line class="grid" x1="${x}" x2="${x}" y1="${SIZE.top}" y2="${end}"/>` +
    `<text x="${x}" y="${end + 18}" text-anchor="middle">${label}</text>`;
  return [
    ...[0, 500, 1_000, 1_500].map((ms) => line(delayX(ms), String(ms))),
    line(delayX(PATIENCE_MS), "none"),
    ...[0, 25, 50, 75, 100].map((share) => line(shareX(share / 100), String(share))),
  ];
}

function rowParts(room: string, cells: readonly Cell[], y: number): string[] {
  const label = `<text x="${SIZE.left - 10}" y="${y + 4}" text-anchor="end">${titleOf(room)}</text>`;
  const marks = SYSTEMS.flatMap(({ name, style, shift }) => {
    const delaysMs = cells.flatMap(({ systems }) => systems[name]?.delaysMs ?? []);
    if (delaysMs.length === 0) return [];
    const { p50, p90 } = delayPercentiles(delaysMs);
    const none = delaysMs.filter((delay) => delay === null).length / delaysMs.length;
    const [from, to] = [delayX(p50 ?? PATIENCE_MS), delayX(p90 ?? PATIENCE_MS)];
    return [
      `<line class="${style}" stroke-width="3" x1="${from}" x2="${to}" y1="${y + shift}" y2="${y + shift}"/>`,
      `<circle class="${style}" cx="${from}" cy="${y + shift}" r="4"/>`,
      `<rect class="${style}" x="${SHARES.from}" y="${y + shift - 3}" width="${shareX(none) - SHARES.from}" height="6"/>`,
    ];
  });
  return [label, ...marks];
}

function delayX(ms: number): number {
  return rounded(DELAYS.from + (ms / PATIENCE_MS) * (DELAYS.to - DELAYS.from));
}

function shareX(share: number): number {
  return rounded(SHARES.from + share * (SHARES.to - SHARES.from));
}

function rounded(value: number): number {
  return Math.round(10 * value) / 10;
}
