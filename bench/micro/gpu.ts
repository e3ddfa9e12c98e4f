import { execFileSync, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  deviceName,
  type Place,
  PROVIDERS,
  type Provider,
  takesDevice,
} from "../../core/domain/placement/provider.js";
import {
  conditionSizes,
  encoderSizes,
  fullSizes,
  stepSizes,
  streamSizes,
  vocoderSizes,
} from "../../native/devices/engine-shapes.js";
import type { GraphShapes, ShapeFigures, TrialRequest } from "../../native/devices/trial.js";
import { type Trial, tryProvider } from "../../native/devices/try-provider.js";
import type { BenchOptions } from "../bench-options.js";
import { table } from "../evaluate/report.js";
import { saveResult } from "../save-result.js";
import { packBench } from "../support/gpu-pack.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const RECOGNIZER = join(ROOT, "models/svc-kk-ru-v2");
const SYNTHESIZER = join(ROOT, "models/svc-kk-v1");
const LIMIT = join(ROOT, "bench/peer/torch_limit.py");
/** Duration of a recogniser's frame, and of a solver's patch, in seconds. */
const FRAME_SECONDS = 0.04;
const PATCH_SECONDS = 512 / 24_000;
const SOLVER_STEPS = 16;
const PASS_FRAMES = [50, 100, 250, 500];
const PASS_ROWS = [1, 4, 8, 16, 32];
/** Number of frames in an utterance of four seconds. */
const FINAL_FRAMES = 100;
const STEP_ROWS = [1, 2, 4, 8, 16, 32, 64];
const STEP_PATCHES = [40, 64, 192, 304];
const LIVE_ROWS = [1, 4, 8, 16, 32, 64, 128, 256];
const STREAMS = [1, 8, 16];
const WINDOW_ROWS = [1, 4, 16, 64];
const WINDOW_FRAMES = [64, 148, 276];

interface GpuOptions {
  readonly smoke: boolean;
  readonly providers: readonly Provider[];
  readonly device: number;
  readonly shapeMs: number;
  readonly processes: readonly number[];
  readonly python: string | null;
}

/**
 * `npm run bench -- gpu [--providers cuda,webgpu,cpu] [--device N] [--seconds S] [--torch PYTHON]`: runs
 * every graph of the shipped packages by rows and lengths on each provider, in separate processes; reports
 * which nodes ran on the CPU, the difference from the CPU's graph, and torch's CUDA graph of the same model
 * as the limit. `--pack FILE.tar.xz [--runtime FOLDER]` writes everything that a machine without a network
 * needs to run it.
 */
export async function run({ smoke, args }: BenchOptions): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      providers: { type: "string" },
      device: { type: "string", default: "0" },
      seconds: { type: "string", default: "1" },
      processes: { type: "string", default: "1,2,4" },
      torch: { type: "string" },
      pack: { type: "string" },
      runtime: { type: "string" },
    },
  });
  if (values.pack !== undefined) return await packBench(values.pack, values.runtime ?? null);
  const options: GpuOptions = {
    smoke,
    providers: providersOf(values.providers ?? (smoke ? "cpu" : "cuda,webgpu,cpu")),
    device: Number(values.device),
    shapeMs: smoke ? 1 : Number(values.seconds) * 1_000,
    processes: smoke ? [] : values.processes.split(",").map(Number),
    python: values.torch ?? null,
  };
  const measured = [];
  for (const provider of options.providers) measured.push(await measure(provider, options));
  const limit = options.python === null ? null : await torchLimit(options.python);
  if (!smoke) console.log(await saveResult("gpu", { devices: deviceNames(), providers: measured, limit }));
}

function providersOf(list: string): readonly Provider[] {
  return list.split(",").map((name) => {
    const provider = PROVIDERS.find((each) => each === name);
    if (provider === undefined) throw new RangeError(`${name} must be one of ${PROVIDERS.join(", ")}`);
    return provider;
  });
}

async function measure(provider: Provider, options: GpuOptions) {
  const trials: Trial[] = [];
  for (const [folder, graphs, streams] of [
    [SYNTHESIZER, speechShapes(options.smoke), options.smoke ? [1] : STREAMS],
    [RECOGNIZER, hearingShapes(options.smoke), []],
  ] as const) {
    const show = (figures: ShapeFigures) => console.log(`${provider}: ${lineOf(figures)}`);
    trials.push(await tryOn(provider, folder, { graphs, streams }, options, show));
  }
  const shapes = trials.flatMap((trial) => trial.shapes);
  const placed = trials.flatMap((trial) => trial.placed);
  const speech = trials.flatMap((trial) => trial.speech);
  for (const { streams, audioSecondsPerSecond, runtimeShare } of speech) {
    const rate = `${audioSecondsPerSecond.toFixed(1)} seconds of speech a second`;
    console.log(
      `${provider}: ${streams} streams: ${rate}, ${(100 * runtimeShare).toFixed(0)} % in the runtime`,
    );
  }
  const failures = trials.flatMap(({ failures: each, ended }) => [
    ...each.map(({ graph, reason }) => `${graph}: ${reason}`),
    ...(ended === null ? [] : [ended]),
  ]);
  for (const failure of failures) console.log(`${provider}: ${failure}`);
  for (const { graph, nodes, copies, productsOnCpu } of placed) {
    const where = Object.entries(nodes).map(([name, count]) => `${count} on ${name}`);
    const products = productsOnCpu.length === 0 ? "no product on the CPU" : productsOnCpu.join(", ");
    console.log(`${provider}: ${graph}: nodes ${where.join(", ")}; ${copies} copies; ${products}`);
  }
  const worth = capacities(shapes);
  if (worth.length > 0) console.log(`\n${table(["what", "figure"], worth)}\n`);
  const shared = shapes.length === 0 ? [] : await sharedBy(provider, options);
  const device = deviceName(placeOf(provider, options.device));
  return {
    provider,
    device,
    shapes,
    placed,
    speech,
    failures,
    capacities: Object.fromEntries(worth),
    shared,
  };
}

function tryOn(
  provider: Provider,
  folder: string,
  { graphs, streams }: Pick<TrialRequest, "graphs" | "streams">,
  { device, shapeMs }: GpuOptions,
  onFigures: (figures: ShapeFigures) => void = () => {},
): Promise<Trial> {
  const shapes = graphs.flatMap((each) => each.shapes).length;
  return tryProvider(
    {
      folder,
      place: placeOf(provider, device),
      graphs,
      streams,
      placed: graphs.map(({ graph, shapes: [sizes] }) => ({ graph, sizes: sizes! })),
      shapeMs,
      threads: 1,
      compares: provider !== "cpu",
    },
    // Software that emulates a device takes seconds per run.
    {
      withinMs: 120_000 + shapes * 60_000,
      onAnswer: (answer) => {
        if (answer.type === "shape") onFigures(answer.figures);
      },
    },
  );
}

function placeOf(provider: Provider, device: number): Place {
  return { provider, device: takesDevice(provider) ? device : null };
}

function speechShapes(smoke: boolean): readonly GraphShapes[] {
  if (smoke)
    return [
      { graph: "step", shapes: [stepSizes(1, 8), stepSizes(2, 8)] },
      { graph: "vocoder", shapes: [vocoderSizes(1, 24)] },
    ];
  return [
    { graph: "step", shapes: product(STEP_PATCHES, STEP_ROWS, (patches, rows) => stepSizes(rows, patches)) },
    {
      graph: "vocoder",
      shapes: product(WINDOW_FRAMES, WINDOW_ROWS, (frames, rows) => vocoderSizes(rows, frames)),
    },
    { graph: "encoder", shapes: [encoderSizes(20), encoderSizes(80)] },
    { graph: "condition", shapes: [conditionSizes(20, 96), conditionSizes(80, 384)] },
  ];
}

function hearingShapes(smoke: boolean): readonly GraphShapes[] {
  if (smoke)
    return [
      { graph: "stream", shapes: [streamSizes(2, 1)] },
      { graph: "full", shapes: [fullSizes(1, 8)] },
    ];
  return [
    {
      graph: "stream",
      shapes: [...LIVE_ROWS.map((rows) => streamSizes(rows, 1)), streamSizes(1, 250), streamSizes(16, 8)],
    },
    { graph: "full", shapes: product(PASS_FRAMES, PASS_ROWS, (frames, rows) => fullSizes(rows, frames)) },
  ];
}

function product<T>(outer: readonly number[], inner: readonly number[], make: (a: number, b: number) => T) {
  return outer.flatMap((a) => inner.map((b) => make(a, b)));
}

function lineOf({ graph, sizes, p50Ms, p90Ms, firstMs, cpuMs, difference }: ShapeFigures): string {
  const shape = Object.entries(sizes).filter(([name]) => name !== "samples");
  const apart = Object.entries(difference ?? {}).map(
    ([name, { largest, of }]) => `${name} ${largest.toExponential(1)} of ${of.toPrecision(2)}`,
  );
  return [
    `${graph} ${shape.map(([name, size]) => `${name} ${size}`).join(", ")}`,
    `${p50Ms.toFixed(2)} ms (p90 ${p90Ms.toFixed(2)}, first ${firstMs.toFixed(0)}, CPU ${cpuMs.toFixed(2)})`,
    ...(apart.length === 0 ? [] : [`differs by ${apart.join("; ")}`]),
  ].join(": ");
}

/** Returns the device's throughput if it ran only these shapes. */
function capacities(shapes: readonly ShapeFigures[]): (readonly [string, string])[] {
  const msOf = (name: string, sizes: Readonly<Record<string, number>>) =>
    shapes.find(
      ({ graph, sizes: found }) =>
        graph === name && Object.entries(sizes).every(([key, value]) => found[key] === value),
    )?.p50Ms ?? null;
  const rows: (readonly [string, string])[] = [];
  const live = LIVE_ROWS.map((count) => [count, msOf("stream", { batch: count, frames: 1 })] as const);
  const sessions = live.flatMap(([count, ms]) =>
    ms === null ? [] : [Math.floor((count * FRAME_SECONDS * 1_000) / ms)],
  );
  if (sessions.length > 0) rows.push(["live sessions by steps alone", String(Math.max(...sessions))]);
  const alone = speechRate(1, msOf);
  for (const streams of STEP_ROWS) {
    const rate = speechRate(streams, msOf);
    if (rate === null || alone === null) continue;
    rows.push([
      `seconds of speech a second, ${streams} streams`,
      `${rate.toFixed(1)} (${(rate / alone).toFixed(2)} times one by one)`,
    ]);
  }
  const [stream, full] = [msOf("stream", { batch: 1, frames: 250 }), msOf("full", { batch: 1, frames: 250 })];
  if (stream !== null && full !== null)
    rows.push(["seconds of files a second", ((250 * FRAME_SECONDS * 1_000) / (stream + full)).toFixed(0)]);
  for (const frames of [FINAL_FRAMES, 250]) {
    for (const count of PASS_ROWS) {
      const [one, ms] = [msOf("full", { batch: 1, frames }), msOf("full", { batch: count, frames })];
      if (one === null || ms === null) continue;
      const times = ((one * count) / ms).toFixed(2);
      const seconds = (frames * FRAME_SECONDS).toFixed(0);
      rows.push([
        `second passes of ${seconds} s a second, ${count} a run`,
        `${((count * 1_000) / ms).toFixed(0)} (${times} times one by one)`,
      ]);
    }
  }
  return rows;
}

/**
 * Returns the rate of pieces of 192 patches, 16 steps each, with their vocoder; windows share runs as steps
 * do, up to the measured number of rows.
 */
function speechRate(
  rows: number,
  msOf: (name: string, sizes: Readonly<Record<string, number>>) => number | null,
): number | null {
  const step = msOf("step", { batch: rows, patches: 192 });
  const windowRows = WINDOW_ROWS.filter((count) => count <= rows).at(-1)!;
  const window = msOf("vocoder", { batch: windowRows, frames: 276 });
  if (step === null || window === null) return null;
  const windows = (rows * 384) / 256 / windowRows;
  return (rows * 192 * PATCH_SECONDS * 1_000) / (SOLVER_STEPS * step + windows * window);
}

/** Measures several processes on one device: total rows per second. */
async function sharedBy(provider: Provider, options: GpuOptions) {
  const figures = [];
  for (const processes of options.processes) {
    const graphs = [{ graph: "step", shapes: [stepSizes(4, 192)] }];
    const trials = await Promise.all(
      Array.from({ length: processes }, () =>
        tryOn(provider, SYNTHESIZER, { graphs, streams: [] }, { ...options, shapeMs: 3 * options.shapeMs }),
      ),
    );
    const rows = trials.flatMap(({ shapes }) => shapes).map(({ p50Ms }) => (4 * 1_000) / p50Ms);
    const rowsPerSecond = rows.reduce((sum, each) => sum + each, 0);
    console.log(
      `${provider}: ${processes} processes: ${rowsPerSecond.toFixed(0)} rows of 192 patches a second`,
    );
    figures.push({ processes, rowsPerSecond });
  }
  return figures;
}

/** Measures torch's CUDA graphs of the same models; null without torch or a device. */
async function torchLimit(python: string): Promise<unknown> {
  const out = join(tmpdir(), `dauys-torch-limit-${process.pid}.json`);
  const { status } = spawnSync(python, [LIMIT, SYNTHESIZER, RECOGNIZER, out], { stdio: "inherit" });
  if (status !== 0) {
    console.log("torch: no limit measured");
    return null;
  }
  return JSON.parse(await readFile(out, "utf8"));
}

function deviceNames(): readonly string[] {
  try {
    const query = ["--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"];
    return execFileSync("nvidia-smi", query, { encoding: "utf8" }).trim().split("\n");
  } catch {
    return [];
  }
}
