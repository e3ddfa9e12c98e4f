import {
  columns,
  interval,
  type Panel,
  picture,
  type Scale,
  scale,
  text,
  tick,
  WIDTH,
} from "../../src/plots/drawing.js";
import type { ErrorRates } from "../evaluate/error-rates.js";
import { percent } from "../evaluate/report.js";
import { readJson } from "./results.js";

interface Evaluation {
  readonly rows: readonly { readonly set: string; readonly beam: ErrorRates }[];
}

/** Sets and their labels in the plot; sets with unseen voices where they exist. */
const SETS: readonly (readonly [set: string, label: string])[] = [
  ["kk-unseen-clean", "Kazakh"],
  ["kk-unseen-noise10", "… noise at 10 dB"],
  ["ru-unseen-clean", "Russian"],
  ["ru-unseen-noise10", "… noise at 10 dB"],
  ["mixed-unseen-clean", "both mixed"],
  ["mixed-unseen-noise10", "… noise at 10 dB"],
  ["human-asterisk-ru-additional", "people, prompts"],
  ["human-gcompris-ru-words", "people, words"],
];
const EVALUATION = "models/svc-kk-ru-v2/evaluation.json";
/** 95 % of a normal distribution, in standard deviations. */
const DEVIATIONS = 1.96;
const ROW = 28;

/** Draws word and character errors of the shipped recogniser, with intervals. */
export function accuracyPlot(): string {
  const { rows, ...result } = readJson<Evaluation>(EVALUATION);
  const shown = SETS.flatMap(([set, label]) => {
    const row = rows.find((one) => one.set === set);
    return row === undefined ? [] : [{ label, ...row.beam }];
  });
  return picture(
    {
      title: "Errors of the bundled recogniser, %",
      entries: [
        { label: "words", colour: "a", mark: "dot" },
        { label: "characters", colour: "b", mark: "dot" },
      ],
      results: [{ ...result, name: "svc-kk-ru-v2" }],
    },
    (top) => {
      const panel: Panel = {
        left: 138,
        right: WIDTH - 104,
        top: top + 22,
        bottom: top + 22 + ROW * shown.length,
      };
      const x = scale([0, 1], [panel.left, panel.right]);
      const marks = shown.flatMap(({ label, words, characters, wordErrorRate, characterErrorRate }, nth) => {
        const y = panel.top + (nth + 0.5) * ROW;
        return [
          text(panel.left - 8, y + 5, label, { anchor: "end" }),
          text(WIDTH - 12, y + 5, `${percent(wordErrorRate)} / ${percent(characterErrorRate)}`, {
            anchor: "end",
          }),
          ...interval(y - 5, placed(x, wordErrorRate, words), "a"),
          ...interval(y + 5, placed(x, characterErrorRate, characters), "b"),
        ];
      });
      return {
        parts: [
          text(12, top + 10, "right: words / characters; lines: 95 % intervals", { kind: "faint" }),
          ...columns(
            panel,
            x,
            [0, 20, 40, 60, 80, 100].map((share) => ({ ...tick(share), at: share / 100 })),
          ),
          ...marks,
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}

function placed(x: Scale, rate: number, count: number) {
  const { low, high } = wilson(rate, count);
  return { from: x(low), middle: x(rate), to: x(high) };
}

/**
 * Computes the 95 % interval of a share of `count` independent events.
 *
 * @see Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
 */
function wilson(rate: number, count: number): { readonly low: number; readonly high: number } {
  const share = Math.min(1, rate);
  const square = DEVIATIONS ** 2 / count;
  const middle = (share + square / 2) / (1 + square);
  const half = (DEVIATIONS / (1 + square)) * Math.sqrt((share * (1 - share)) / count + square / (4 * count));
  return { low: middle - half, high: middle + half };
}
