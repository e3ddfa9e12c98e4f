import {
  bar,
  type Colour,
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

interface FilesResult {
  readonly parameters: { readonly audioSeconds: number };
  readonly summary: readonly {
    readonly name: string;
    readonly wallSeconds: number;
    readonly cpuSeconds: number;
  }[];
}

const ROW = 50;

/** Draws time and CPU time for one file by workers, compared with sherpa-onnx and the bare graphs. */
export function filesPlot(): string {
  const files = resultOf<FilesResult>("files");
  const ticks = ticksTo(
    Math.max(...files.summary.flatMap(({ wallSeconds, cpuSeconds }) => [wallSeconds, cpuSeconds])),
    5,
  );
  return picture(
    {
      title: `Seconds for ${Math.round(files.parameters.audioSeconds / 60)} minutes of audio, by workers`,
      entries: [
        { label: "Dauys", colour: "a", mark: "bar" },
        { label: "sherpa-onnx, graphs alone", colour: "b", mark: "bar" },
      ],
      results: [files],
    },
    (top) => {
      const panel: Panel = {
        left: 12,
        right: WIDTH - 20,
        top: top + 22,
        bottom: top + 22 + ROW * files.summary.length,
      };
      const x = scale([0, lastOf(ticks)], [panel.left, panel.right]);
      return {
        parts: [
          text(12, top + 10, "thick: until the text arrives, thin: CPU time", { kind: "faint" }),
          ...columns(panel, x, ticks),
          ...files.summary.flatMap(({ name, wallSeconds, cpuSeconds }, nth) => {
            const y = panel.top + nth * ROW;
            const colour: Colour = name.startsWith("dauys") ? "a" : "b";
            const label = `${name.replace("dauys", "Dauys")}: ${wallSeconds.toFixed(1)} s, CPU ${cpuSeconds.toFixed(1)} s`;
            return [
              text(panel.left + 5, y + 18, label),
              bar({ x: panel.left, y: y + 24, width: x(wallSeconds) - panel.left, height: 12 }, colour),
              bar({ x: panel.left, y: y + 39, width: x(cpuSeconds) - panel.left, height: 4 }, colour),
            ];
          }),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}
