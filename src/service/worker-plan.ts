import { stat } from "node:fs/promises";
import { SHARED_FROM_BYTES } from "../../native/models/graph-files.js";
import type { ModelManifest } from "../../native/models/manifest.js";
import { type PackageFolder, pathOf } from "../../native/models/package.js";
import type { Config } from "../settings/settings.js";
import type { InstalledModels } from "./installed-models.js";
import type { Machine } from "./machine.js";

/** Engines in the order of their claim to the processor, which is the order in which they get workers. */
export const ENGINE_KINDS = ["live", "synthesis", "transcription"] as const;
export type EngineKind = (typeof ENGINE_KINDS)[number];

/** What an engine asks for. */
export interface WorkerDemand {
  /** Memory that each of its workers takes for itself. */
  readonly bytes: number;
  /** As the operator has set it; null lets the plan decide. */
  readonly wanted: number | null;
  /** Devices that run its graphs; null on the CPU. */
  readonly devices?: number | null;
}

/** What decided the number of workers: the operator, or what there was not more of. */
type PlanReason = "setting" | "devices" | "cores" | "quota" | "memory" | "sockets";

interface PlannedWorkers {
  readonly count: number;
  readonly reason: PlanReason;
}

export type WorkerPlan = Readonly<Record<EngineKind, PlannedWorkers>>;

/** The other half is for sessions, speech that is not sent yet, the database and what the machine does besides. */
const MEMORY_SHARE = 0.5;
/** Sixteen workers carry 2,560 live sessions, more than the thread that holds their sockets. */
const MOST_LIVE_WORKERS = 16;

/**
 * How many workers each engine has: one at least, then one more each in turn, as far as cores and memory go. Every engine
 * may have as many as there are cores, since an idle one's threads cost nothing and its cores are the others' meanwhile;
 * who comes first when all are busy is the scheduler's to say (`takeNiceness`). Where a quota bounds CPU time, no thread
 * waits for another and niceness means nothing: there all engines together have as many as there are cores. An engine whose
 * graphs run on devices has a worker for each of them.
 *
 * @param takenBytes of workers' memory, by models that are planned already
 */
export function planWorkers(
  machine: Pick<Machine, "cores" | "hasQuota" | "memoryBytes">,
  demands: Readonly<Record<EngineKind, WorkerDemand>>,
  takenBytes = 0,
): WorkerPlan {
  const counts = { live: 0, synthesis: 0, transcription: 0 };
  let leftBytes = machine.memoryBytes * MEMORY_SHARE - takenBytes;
  const add = (kind: EngineKind, count: number) => {
    counts[kind] += count;
    leftBytes -= count * demands[kind].bytes;
  };
  for (const kind of ENGINE_KINDS) add(kind, demands[kind].wanted ?? demands[kind].devices ?? 1);
  const lacks = (kind: EngineKind): PlanReason | null => {
    if (demands[kind].wanted !== null) return "setting";
    // A second worker on a device would be a second copy of its graphs there, and they take turns.
    if ((demands[kind].devices ?? null) !== null) return "devices";
    if (counts[kind] >= machine.cores) return machine.hasQuota ? "quota" : "cores";
    if (kind === "live" && counts[kind] >= MOST_LIVE_WORKERS) return "sockets";
    if (machine.hasQuota && counts.live + counts.synthesis + counts.transcription >= machine.cores)
      return "quota";
    return leftBytes < demands[kind].bytes ? "memory" : null;
  };
  for (let hasGrown = true; hasGrown; ) {
    hasGrown = false;
    for (const kind of ENGINE_KINDS) {
      if (lacks(kind) !== null) continue;
      add(kind, 1);
      hasGrown = true;
    }
  }
  // Nothing grows any more, so each lacks something.
  const planned = (kind: EngineKind) => ({ count: counts[kind], reason: lacks(kind)! });
  return { live: planned("live"), synthesis: planned("synthesis"), transcription: planned("transcription") };
}

/** A thread with its heap, the runtime's working memory, and buffers of batches; measured, see this room's README. */
const WORKER_BYTES = 96 * 2 ** 20;

/**
 * Memory that each worker with a model takes for itself: its graphs, which the runtime packs once for every worker, and what
 * any worker needs. Graphs from a gigabyte on are not packed; their workers share the pages of the file.
 */
export async function workerBytes(model: PackageFolder): Promise<number> {
  const sizes = await Promise.all(Object.keys(model.manifest.files).map((name) => graphBytes(model, name)));
  return sizes.reduce((sum, bytes) => sum + (bytes < SHARED_FROM_BYTES ? bytes : 0), WORKER_BYTES);
}

/** Of a graph with its side files; 0 of any other file, and of one that is missing, which its load will tell. */
async function graphBytes(model: PackageFolder, name: string): Promise<number> {
  const file = model.manifest.files[name];
  if (file === undefined || !file.path.endsWith(".onnx")) return 0;
  const paths = [name, ...(file.external ?? [])].map((part) => pathOf(model, part));
  const sizes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The workers of every installed model, by its id; a model has only those of its task. */
export interface PlannedModels {
  readonly byModel: ReadonlyMap<string, WorkerPlan>;
  readonly ofDefaults: WorkerPlan;
}

/**
 * Plans for the defaults together, and for each other model as if it stood in the place of its default, in the memory that the
 * defaults leave: it is loaded when a request names it.
 * @param deviceCount how many devices an engine's workers are dealt over; null on the CPU
 */
export async function planModels(
  config: Pick<Config, "liveWorkers" | "synthesisWorkers" | "fileWorkers" | "serve"> &
    Partial<Pick<Config, "role" | "liveLanes">>,
  { recognizers, synthesizers }: Pick<InstalledModels, "recognizers" | "synthesizers">,
  machine: Machine,
  deviceCount: (kind: EngineKind) => number | null = () => null,
): Promise<PlannedModels> {
  const [recognizer, ...recognizersByName] = recognizers;
  const [synthesizer, ...synthesizersByName] = synthesizers;
  if (recognizer === undefined || synthesizer === undefined) throw new RangeError("each task needs a model");
  // A part that is served elsewhere leaves its cores and memory to the others.
  const demand = (kind: EngineKind, bytes: number, wanted: number | null): WorkerDemand => ({
    bytes,
    wanted: config.serve.includes(kind) ? wanted : 0,
    devices: deviceCount(kind),
  });
  const demandsOf = async (hearing: PackageFolder<ModelManifest>, speaking: PackageFolder<ModelManifest>) => {
    const [hearingBytes, speakingBytes] = await Promise.all([workerBytes(hearing), workerBytes(speaking)]);
    const { role = "all", liveLanes = 1, liveWorkers } = config;
    // Its workers are other processes'.
    const elsewhere = (kind: EngineKind, wanted: number): WorkerDemand => ({
      bytes: 0,
      wanted: config.serve.includes(kind) ? wanted : 0,
    });
    if (role === "gateway") {
      return {
        live: elsewhere("live", liveLanes),
        synthesis: elsewhere("synthesis", 1),
        transcription: elsewhere("transcription", 1),
      };
    }
    return {
      live: demand("live", hearingBytes, liveWorkers),
      synthesis: demand("synthesis", speakingBytes, config.synthesisWorkers),
      transcription: demand("transcription", hearingBytes, config.fileWorkers),
    } satisfies Record<string, WorkerDemand>;
  };
  const demands = await demandsOf(recognizer, synthesizer);
  const ofDefaults = planWorkers(machine, demands);
  const takenBytes = ENGINE_KINDS.reduce(
    (sum, kind) => sum + ofDefaults[kind].count * demands[kind].bytes,
    0,
  );
  const byModel = new Map([
    [recognizer.manifest.id, ofDefaults],
    [synthesizer.manifest.id, ofDefaults],
  ]);
  for (const other of recognizersByName)
    byModel.set(other.manifest.id, planWorkers(machine, await demandsOf(other, synthesizer), takenBytes));
  for (const other of synthesizersByName)
    byModel.set(other.manifest.id, planWorkers(machine, await demandsOf(recognizer, other), takenBytes));
  return { byModel, ofDefaults };
}

/** `2 live (cores), 2 synthesis (cores), 1 transcription (setting)`. */
export function describePlan(plan: WorkerPlan): string {
  const served = ENGINE_KINDS.filter((kind) => plan[kind].count > 0);
  return served.map((kind) => `${plan[kind].count} ${kind} (${plan[kind].reason})`).join(", ");
}
