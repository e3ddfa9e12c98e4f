import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { stepSizes, streamSizes, vocoderSizes } from "../../native/devices/engine-shapes.js";
import { deviceNameOf } from "../../native/devices/machine.js";
import type { GraphShapes, ShapeFigures } from "../../native/devices/trial.js";
import { tryProvider } from "../../native/devices/try-provider.js";
import { type DeviceTuning, readDeviceTuning, writeDeviceTuning } from "../../native/devices/tuning.js";
import { PROVIDERS, takesDevice } from "../../src/domain/placement/provider.js";
import { chooseRows } from "../../src/domain/placement/row-choice.js";
import { DEFAULT_DATA_DIR } from "../../src/settings/defaults.js";
import { table } from "../evaluate/report.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const RECOGNIZER = join(ROOT, "models/svc-kk-ru-v2");
const SYNTHESIZER = join(ROOT, "models/svc-kk-v1");

/** What is chosen: rows of one graph at a usual length, and how long a run may hold up others. */
const CHOICES = [
  // A newcomer waits for the step that runs.
  ["solverRows", SYNTHESIZER, "step", [1, 2, 4, 8, 16, 32, 64], (rows: number) => stepSizes(rows, 192), 25],
  ["windowRows", SYNTHESIZER, "vocoder", [1, 2, 4, 8, 16], (rows: number) => vocoderSizes(rows, 148), 25],
  // As long as a batch of the longest backlog takes on a core.
  ["liveRows", RECOGNIZER, "stream", [64, 96, 128, 192, 256], (rows: number) => streamSizes(rows, 1), 20],
] as const;

/**
 * `npm run bench -- device-tuning --provider cuda [--device N] [--seconds S] [--data-dir DIR]`: times runs by rows on a device
 * and writes how many rows pay within the latency budget to `device-tuning.json` of the data folder, where the next start of
 * the service finds them.
 */
export async function run({
  smoke,
  args,
}: {
  readonly smoke: boolean;
  readonly args: readonly string[];
}): Promise<void> {
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
  const figures: Record<string, readonly ShapeFigures[]> = {};
  for (const [name, model, graph, all, sizesOf] of CHOICES) {
    const rows = smoke ? all.slice(0, 1) : all;
    const graphs: GraphShapes[] = [{ graph, shapes: rows.map(smoke ? () => smallest(graph) : sizesOf) }];
    const trial = await tryProvider(
      {
        ...{ folder: model, place, graphs, placed: [], streams: [], threads: 1, compares: false },
        shapeMs: smoke ? 1 : Number(values.seconds) * 1_000,
      },
      { withinMs: 600_000 },
    );
    const [failure] = trial.failures;
    if (trial.shapes.length === 0) throw new Error(`${provider}: ${failure?.reason ?? trial.ended}`);
    figures[name] = trial.shapes;
  }
  const chosen = Object.fromEntries(
    CHOICES.map(([name, , , , , budgetMs]) => [name, chooseRows(timesOf(figures[name]!), budgetMs)]),
  ) as Pick<DeviceTuning, (typeof CHOICES)[number][0]>;
  const tuning: DeviceTuning = {
    ...chosen,
    device: (await deviceNameOf(place)) ?? provider,
    measured: new Date().toISOString(),
  };
  console.log(tableOf(figures, tuning));
  const path = await writeDeviceTuning(folder, provider, tuning);
  console.log(`${path}: the next start with ${provider} takes it`);
  if (!smoke) return;
  if ((await readDeviceTuning(folder))[provider]?.solverRows !== tuning.solverRows)
    throw new Error("what was written is not read");
  await rm(folder, { recursive: true });
}

function smallest(graph: string) {
  if (graph === "step") return stepSizes(1, 8);
  if (graph === "vocoder") return vocoderSizes(1, 24);
  return streamSizes(1, 1);
}

function timesOf(figures: readonly ShapeFigures[]) {
  return figures.map(({ sizes, p50Ms }) => ({ rows: sizes["batch"]!, ms: p50Ms }));
}

function tableOf(figures: Readonly<Record<string, readonly ShapeFigures[]>>, tuning: DeviceTuning): string {
  const rows = CHOICES.map(([name, , graph, , , budgetMs]) => [
    name,
    graph,
    timesOf(figures[name]!)
      .map(({ rows: count, ms }) => `${count}: ${ms.toFixed(2)}`)
      .join(", "),
    String(budgetMs),
    String(tuning[name]),
  ]);
  return table(["what", "graph", "ms by rows", "budget, ms", "chosen"], rows);
}
