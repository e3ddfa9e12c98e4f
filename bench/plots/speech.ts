import {
  columns,
  interval,
  lastOf,
  medianAndTail,
  type Panel,
  picture,
  rows,
  scale,
  text,
  ticksAt,
  ticksTo,
  upright,
  WIDTH,
} from "../../src/plots/drawing.js";
import { quantile, resultOf } from "./results.js";

interface FirstSounds {
  readonly firstSound: readonly {
    readonly text: string;
    readonly firstSoundMs: readonly number[];
    readonly bareMs: readonly { readonly totalMs: number }[];
  }[];
}

interface FirstSoundResult extends FirstSounds {
  readonly parameters: { readonly workers: number };
  readonly crowd: { readonly streams: number; readonly firstSoundMs: Tails };
}

interface Tails {
  readonly p50: number;
  readonly p95: number;
}

interface SynthesisResult extends FirstSounds {
  readonly rounds: readonly {
    readonly nfe: number;
    readonly streams: number;
    readonly sharedFirstAudioMs: Tails;
    readonly serialFirstAudioMs: Tails;
  }[];
}

/** Number of solver steps of a stream, the service's default. */
const NFE = 16;

/** Draws first sound of one stream in chunks by the length of its text, idle. */
export function firstAudioPlot(): string {
  const first = resultOf<FirstSoundResult>("first-sound");
  const synthesis = resultOf<SynthesisResult>("synthesis");
  const sides = [
    { ...first, colour: "a", shift: -7 },
    { ...synthesis, colour: "b", shift: 7 },
  ] as const;
  const ticks = ticksTo(
    Math.max(...sides.flatMap((side) => side.firstSound.flatMap((one) => one.firstSoundMs))),
    5,
  );
  return picture(
    {
      title: "First sound, ms, by length of the text",
      entries: [
        { label: `${first.parameters.workers} workers: p50, least to most`, colour: "a", mark: "line" },
        { label: "1 worker", colour: "b", mark: "line" },
      ],
      results: [first, synthesis],
    },
    (top) => {
      const panel: Panel = {
        left: 122,
        right: WIDTH - 20,
        top: top + 22,
        bottom: top + 22 + 46 * first.firstSound.length,
      };
      const x = scale([0, lastOf(ticks)], [panel.left, panel.right]);
      return {
        parts: [
          text(12, top + 10, "upright line: runs of the bare model before that sound", { kind: "faint" }),
          ...columns(panel, x, ticks),
          ...first.firstSound.map(({ text: words }, nth) =>
            text(panel.left - 8, panel.top + 46 * nth + 28, `${words.length} characters`, { anchor: "end" }),
          ),
          ...sides.flatMap(({ firstSound, colour, shift }) =>
            firstSound.flatMap(({ firstSoundMs, bareMs }, nth) => {
              const y = panel.top + 46 * nth + 23 + shift;
              const [from, middle, to] = [0, 0.5, 1].map((share) => x(quantile(firstSoundMs, share)));
              const bare = quantile(
                bareMs.map(({ totalMs }) => totalMs),
                0.5,
              );
              return [
                ...interval(y, { from: from!, middle: middle!, to: to! }, colour),
                upright(x(bare), y, colour),
              ];
            }),
          ),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}

/** Draws first audio by the number of streams that start together. */
export function burstPlot(): string {
  const first = resultOf<FirstSoundResult>("first-sound");
  const synthesis = resultOf<SynthesisResult>("synthesis");
  const lines = burstLines(first, synthesis);
  const all = lines.flatMap(({ points }) => points);
  const most = Math.max(...all.map(({ streams }) => streams));
  const highestMs = Math.max(...all.map(({ p95 }) => p95));
  return picture(
    {
      title: "First audio, s, by streams started together",
      entries: [
        { label: `chunks, ${first.parameters.workers} workers`, colour: "a", mark: "line" },
        { label: "sentences, 1 worker", colour: "c", mark: "line" },
        { label: "sentences, one stream after another", colour: "b", mark: "line" },
      ],
      results: [first, synthesis],
    },
    (top) => {
      const panel: Panel = { left: 44, right: WIDTH - 24, top: top + 22, bottom: top + 222 };
      const x = scale([1, most], [panel.left + 6, panel.right], Math.log2);
      const y = scale([50, highestMs], [panel.bottom, panel.top], Math.log);
      const seconds = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20].filter((value) => 1_000 * value <= highestMs);
      return {
        parts: [
          text(12, top + 10, "solid: p50, dashed: p95", { kind: "faint" }),
          ...rows(
            panel,
            y,
            seconds.map((value) => ({ at: 1_000 * value, label: String(value) })),
          ),
          ...columns(panel, x, ticksAt(all.map(({ streams }) => streams))),
          ...lines.flatMap(({ colour, points }) =>
            medianAndTail(
              points.map(({ streams, p50, p95 }) => ({ x: x(streams), median: y(p50), tail: y(p95) })),
              colour,
            ),
          ),
        ],
        bottom: panel.bottom + 28,
      };
    },
  );
}

/** Returns a line for each way to serve a burst: percentiles of first audio by the number of streams. */
function burstLines(first: FirstSoundResult, synthesis: SynthesisResult) {
  const rounds = synthesis.rounds.filter(({ nfe }) => nfe === NFE);
  const single = first.firstSound.flatMap(({ firstSoundMs }) => firstSoundMs);
  return [
    {
      colour: "a",
      points: [
        { streams: 1, p50: quantile(single, 0.5), p95: quantile(single, 0.95) },
        { streams: first.crowd.streams, ...first.crowd.firstSoundMs },
      ],
    },
    {
      colour: "c",
      points: rounds.map(({ streams, sharedFirstAudioMs }) => ({ streams, ...sharedFirstAudioMs })),
    },
    {
      colour: "b",
      points: rounds.map(({ streams, serialFirstAudioMs }) => ({ streams, ...serialFirstAudioMs })),
    },
  ] as const;
}
