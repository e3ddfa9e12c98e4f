import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Place, PROVIDERS, takesDevice } from "../../core/domain/placement/provider.js";
import type { RowsOfLength } from "../../core/domain/placement/shared-passes.js";
import { fullSizes, stepSizes, streamSizes, vocoderSizes } from "../../native/devices/engine-shapes.js";
import type { Sizes } from "../../native/devices/feeds.js";
import { deviceNameOf } from "../../native/devices/machine.js";
import type { ShapeFigures } from "../../native/devices/trial.js";
import { tryProvider } from "../../native/devices/try-provider.js";
import { type DeviceTuning, readDeviceTuning, writeDeviceTuning } from "../../native/devices/tuning.js";
import { DEFAULT_DATA_DIR } from "../../src/settings/defaults.js";
import type { BenchOptions } from "../bench-options.js";
import { table } from "../evaluate/report.js";
import { chooseRows, type RowTime } from "../support/row-choice.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const RECOGNIZER = join(ROOT, "models/svc-kk-ru-v2");
const SYNTHESIZER = join(ROOT, "models/svc-kk-v1");

const SOLVER_ROWS = [1, 2, 4, 8, 16, 32, 64];
const SOLVER_PATCHES = 192;
const WINDOW_ROWS = [1, 2, 4, 8, 16];
const WINDOW_FRAMES = 148;
const LIVE_ROWS = [64, 96, 128, 192, 256];
/** Lengths of second passes: 2, 4, 10 and 20 s. */
const PASS_FRAMES = [50, 100, 250, 500];
const PASS_ROWS = [1, 2, 4, 8, 16, 32];
/** Silence after an utterance, which a live second pass encodes first. */
const FLUSH_FRAMES = 8;
/** Lengths of a file's audio in one encoder run: 2 to 20 s. */
const HEAR_FRAMES = [50, 100, 250, 500];

/** Maximum duration of a run, since all other work waits for it. */
const BUDGET_MS = {
  // A new session waits for the step in progress.
  solver: 25,
  window: 25,
  // A batch with the longest backlog takes this long on one core.
  live: 20,
  // Second passes run between two live steps, whose sessions wait meanwhile.
  final: 8,
  // Pieces of files and the encoder over them run while another worker runs live steps on the same device.
  file: 25,
} as const;

/** Shapes of one graph that are timed together. */
interface Measurement {
  readonly folder: string;
  readonly graph: string;
  readonly shapes: readonly Sizes[];
}

const MEASUREMENTS = {
  solver: {
    folder: SYNTHESIZER,
    graph: "step",
    shapes: SOLVER_ROWS.map((rows) => stepSizes(rows, SOLVER_PATCHES)),
  },
  window: {
    folder: SYNTHESIZER,
    graph: "vocoder",
    shapes: WINDOW_ROWS.map((rows) => vocoderSizes(rows, WINDOW_FRAMES)),
  },
  live: { folder: RECOGNIZER, graph: "stream", shapes: LIVE_ROWS.map((rows) => streamSizes(rows, 1)) },
  flush: {
    folder: RECOGNIZER,
    graph: "stream",
    shapes: PASS_ROWS.map((rows) => streamSizes(rows, FLUSH_FRAMES)),
  },
  pass: {
    folder: RECOGNIZER,
    graph: "full",
    shapes: PASS_FRAMES.flatMap((frames) => PASS_ROWS.map((rows) => fullSizes(rows, frames))),
  },
  hear: { folder: RECOGNIZER, graph: "stream", shapes: HEAR_FRAMES.map((frames) => streamSizes(1, frames)) },
} as const satisfies Record<string, Measurement>;

type Figures = Readonly<Record<keyof typeof MEASUREMENTS, readonly ShapeFigures[]>>;

/**
 * `npm run bench -- device-tuning --provider cuda [--device N] [--seconds S] [--data-dir DIR]`: measures runs
 * by rows and lengths on a device, alternating for each graph, and writes the numbers that pay off within the
 * latency budget to `device-tuning.json` in the data folder, for the service's next start.
 */
export async function run({ smoke, args }: BenchOptions): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      provider: { type: "string", default: "cpu" },
      device: { type: "string", default: "0" },
      seconds: { type: "string", default: "1" },
      "data-dir": { type: "string" },
    },
  });
  const provider = PROVIDERS.find((name) => name === values.provider);
  if (provider === undefined) throw new RangeError(`--provider must be one of ${PROVIDERS.join(", ")}`);
  const folder = smoke
    ? await mkdtemp(join(tmpdir(), "dauys-tuning-"))
    : resolve(values["data-dir"] ?? process.env["DATA_DIR"] ?? DEFAULT_DATA_DIR);
  const place = { provider, device: takesDevice(provider) ? Number(values.device) : null };
  const figures = await measure(place, smoke ? 1 : Number(values.seconds) * 1_000, smoke);
  const tuning: DeviceTuning = {
    ...choose(figures),
    device: (await deviceNameOf(place)) ?? provider,
    measured: new Date().toISOString(),
  };
  console.log(tableOf(figures, tuning));
  const path = await writeDeviceTuning(folder, provider, tuning);
  console.log(`${path}: used from the next start with ${provider} on`);
  if (!smoke) return;
  if ((await readDeviceTuning(folder))[provider]?.hearFrames !== tuning.hearFrames)
    throw new Error("the written file reads back differently");
  await rm(folder, { recursive: true });
}

async function measure(place: Place, shapeMs: number, smoke: boolean): Promise<Figures> {
  const figures: Record<string, readonly ShapeFigures[]> = {};
  for (const [name, { folder, graph, shapes }] of Object.entries(MEASUREMENTS)) {
    const graphs = [{ graph, shapes: smoke ? shapes.slice(0, 1).map(shorter) : shapes }];
    const trial = await tryProvider(
      {
        ...{ folder, place, graphs, placed: [], streams: [], threads: 1, compares: false },
        ...{ shapeMs, inTurns: true },
      },
      { withinMs: 600_000 },
    );
    const [failure] = trial.failures;
    if (trial.shapes.length === 0) throw new Error(`${place.provider}: ${failure?.reason ?? trial.ended}`);
    figures[name] = trial.shapes;
  }
  return figures as Figures;
}

/** Returns small sizes, for smoke runs. */
function shorter(sizes: Sizes): Sizes {
  if ("patches" in sizes) return stepSizes(1, 8);
  if (sizes["samples"] === undefined) return fullSizes(1, sizes["frames"]!);
  return sizes["samples"] === sizes["frames"]! * 256 ? vocoderSizes(1, 24) : streamSizes(1, sizes["frames"]!);
}

function choose({
  solver,
  window,
  live,
  flush,
  pass,
  hear,
}: Figures): Omit<DeviceTuning, "device" | "measured"> {
  const flushMs = new Map(flush.map(({ sizes, p50Ms }) => [sizes["batch"]!, p50Ms]));
  return {
    solverRows: chooseRows(timesBy("batch", solver), BUDGET_MS.solver),
    windowRows: chooseRows(timesBy("batch", window), BUDGET_MS.window),
    liveRows: chooseRows(timesBy("batch", live), BUDGET_MS.live),
    finalRows: rowsByLength(pass, BUDGET_MS.final, (rows) => flushMs.get(rows) ?? 0),
    fileRows: rowsByLength(pass, BUDGET_MS.file, () => 0),
    hearFrames: chooseRows(timesBy("frames", hear), BUDGET_MS.file),
  };
}

function timesBy(size: "batch" | "frames", figures: readonly ShapeFigures[]): RowTime[] {
  return figures.map(({ sizes, p50Ms }) => ({ rows: sizes[size]!, ms: p50Ms }));
}

/** Returns the number of rows that pay off for each length; lengths beyond the last shared one run alone. */
function rowsByLength(
  figures: readonly ShapeFigures[],
  budgetMs: number,
  besidesMs: (rows: number) => number,
): readonly RowsOfLength[] {
  const lengths = [...new Set(figures.map(({ sizes }) => sizes["frames"]!))].sort((a, b) => a - b);
  const chosen = lengths.map((frames) => {
    const own = timesBy(
      "batch",
      figures.filter(({ sizes }) => sizes["frames"] === frames),
    );
    const times = own.map(({ rows, ms }) => ({ rows, ms: ms + besidesMs(rows) }));
    return { frames, rows: chooseRows(times, budgetMs) };
  });
  return chosen.slice(0, chosen.findLastIndex(({ rows }) => rows > 1) + 1);
}

function tableOf(figures: Figures, tuning: DeviceTuning): string {
  const shown = (all: readonly ShapeFigures[], size: "batch" | "frames") =>
    timesBy(size, all)
      .map(({ rows, ms }) => `${rows}: ${ms.toFixed(2)}`)
      .join(", ");
  const tableText = (all: readonly RowsOfLength[]) =>
    all.length === 0 ? "1" : all.map(({ frames, rows }) => `${rows} to ${frames} frames`).join(", ");
  const ofLength = (frames: number) => figures.pass.filter(({ sizes }) => sizes["frames"] === frames);
  const passes = PASS_FRAMES.filter((frames) => ofLength(frames).length > 0);
  return table(
    ["what", "graph", "ms", "budget, ms", "chosen"],
    [
      [
        "solverRows",
        "step",
        shown(figures.solver, "batch"),
        String(BUDGET_MS.solver),
        String(tuning.solverRows),
      ],
      [
        "windowRows",
        "vocoder",
        shown(figures.window, "batch"),
        String(BUDGET_MS.window),
        String(tuning.windowRows),
      ],
      ["liveRows", "stream", shown(figures.live, "batch"), String(BUDGET_MS.live), String(tuning.liveRows)],
      ...passes.map((frames) => [`passes of ${frames}`, "full", shown(ofLength(frames), "batch"), "", ""]),
      [
        "finalRows",
        "and flush",
        shown(figures.flush, "batch"),
        String(BUDGET_MS.final),
        tableText(tuning.finalRows),
      ],
      ["fileRows", "", "", String(BUDGET_MS.file), tableText(tuning.fileRows)],
      [
        "hearFrames",
        "stream",
        shown(figures.hear, "frames"),
        String(BUDGET_MS.file),
        String(tuning.hearFrames),
      ],
    ],
  );
}
