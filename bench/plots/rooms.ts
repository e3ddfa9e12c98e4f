import {
  bar,
  columns,
  interval,
  type Panel,
  picture,
  scale,
  text,
  tick,
  WIDTH,
} from "../../src/plots/drawing.js";
import { groupBy } from "../evaluate/group-by.js";
import { table } from "../evaluate/report.js";
import { titleOf } from "../support/rooms/beds.js";
import { type Cell, delayPercentiles, FINALS } from "../support/rooms/cells.js";
import { OURS, SILERO } from "../support/rooms/hearers.js";
import { PATIENCE_MS } from "../support/rooms/judge.js";
import { resultOf } from "./results.js";

interface RoomsResult {
  readonly cells: readonly Cell[];
}

/** Levels of every room except the quiet one. */
const SHOWN_DB = [20, 15, 10];
const ROW = 28;
const SYSTEMS = [
  { name: OURS, colour: "a", shift: -5 },
  { name: SILERO, colour: "b", shift: 5 },
] as const;

/**
 * Draws, for each room, the delay of utterance ends and the share that never ends. Both systems only detect
 * voice activity, so utterances in which the recogniser understood nothing count as ended.
 */
export function roomsPlot(): string {
  const { cells, ...result } = resultOf<RoomsResult>("rooms");
  const shown = cells.filter(({ levelDb }) => levelDb === null || SHOWN_DB.includes(levelDb));
  const rooms = [...groupBy(shown, ({ room }) => room)];
  return picture(
    {
      title: "Ends of utterances over a background",
      entries: [
        { label: "Dauys", colour: "a", mark: "line" },
        { label: "Silero VAD 6", colour: "b", mark: "line" },
      ],
      results: [result],
    },
    (top) => {
      const bounds = { top: top + 44, bottom: top + 44 + ROW * rooms.length };
      const delays: Panel = { left: 104, right: 292, ...bounds };
      const shares: Panel = { left: 330, right: WIDTH - 20, ...bounds };
      const delayX = scale([0, PATIENCE_MS], [delays.left, delays.right]);
      const shareX = scale([0, 1], [shares.left, shares.right]);
      const lateTicks = [0, 500, 1_000, 1_500].map(tick);
      const marks = rooms.flatMap(([room, own], nth) => {
        const y = bounds.top + (nth + 0.5) * ROW;
        return [
          text(delays.left - 8, y + 5, titleOf(room), { anchor: "end" }),
          ...roomMarks(own, y, delayX, shareX),
        ];
      });
      return {
        parts: [
          text(12, top + 12, "20, 15 and 10 dB below the speaker; left: end of speech", { kind: "faint" }),
          text(12, top + 30, "to end of utterance, p50 to p90, ms; right: no end, %", { kind: "faint" }),
          ...columns(delays, delayX, [...lateTicks, { at: PATIENCE_MS, label: "none" }]),
          ...columns(
            shares,
            shareX,
            [0, 0.5, 1].map((share) => ({ at: share, label: String(100 * share) })),
          ),
          ...marks,
        ],
        bottom: bounds.bottom + 28,
      };
    },
  );
}

function roomMarks(
  cells: readonly Cell[],
  y: number,
  delayX: (ms: number) => number,
  shareX: (share: number) => number,
): readonly string[] {
  return SYSTEMS.flatMap(({ name, colour, shift }) => {
    const delaysMs = cells.flatMap(({ systems }) => systems[name]?.delaysMs ?? []);
    if (delaysMs.length === 0) return [];
    const { p50, p90 } = delayPercentiles(delaysMs);
    const none = delaysMs.filter((delay) => delay === null).length / delaysMs.length;
    const [from, to] = [delayX(p50 ?? PATIENCE_MS), delayX(p90 ?? PATIENCE_MS)];
    return [
      ...interval(y + shift, { from, middle: from, to }, colour),
      bar({ x: shareX(0), y: y + shift - 3, width: shareX(none) - shareX(0), height: 6 }, colour),
    ];
  });
}

/**
 * Renders delays in some of the cells as a Markdown table, people and synthetic voices together: our finals,
 * and Silero's ends.
 * @public Used by scripts/docs.mjs.
 */
export function roomTable(): string {
  const { cells } = resultOf<RoomsResult>("rooms");
  const rows = TABLED.map(([room, levelDb]) => {
    const own = cells.filter((cell) => cell.room === room && cell.levelDb === levelDb);
    const of = (system: string) => {
      const delaysMs = own.flatMap(({ systems }) => systems[system]?.delaysMs ?? []);
      const { p50, p90 } = delayPercentiles(delaysMs);
      const none = delaysMs.filter((delay) => delay === null).length;
      return [`${p50 ?? "later"} / ${p90 ?? "later"}`, `${none} of ${delaysMs.length}`];
    };
    return [titleOf(room), levelDb === null ? "" : String(levelDb), ...of(FINALS), ...of(SILERO)];
  });
  return table(["Background", "dB below", "Dauys, ms", "none", "Silero, ms", "none"], rows);
}

const TABLED: readonly (readonly [room: string, levelDb: number | null])[] = [
  ["quiet", null],
  ["six", 15],
  ["one", 20],
  ["one", 10],
  ["television", 15],
];
