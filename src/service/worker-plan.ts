import { stat } from "node:fs/promises";
import { recognizerFamilyOf } from "../../native/models/families.js";
import { SHARED_FROM_BYTES } from "../../native/models/graph-files.js";
import type { ModelManifest, RecognizerManifest } from "../../native/models/manifest.js";
import { type PackageFolder, pathOf } from "../../native/models/package.js";
import type { Config } from "../settings/settings.js";
import type { InstalledModels } from "./installed-models.js";
import type { Machine } from "./machine.js";

/** Engines in order of priority, which is also the order in which they get workers. */
export const ENGINE_KINDS = ["live", "synthesis", "transcription"] as const;
export type EngineKind = (typeof ENGINE_KINDS)[number];

/** Requirements of an engine. */
export interface WorkerDemand {
  /** Memory that one worker takes. */
  readonly bytes: number;
  /** The operator's setting; null lets the plan decide. */
  readonly wanted: number | null;
  /** Number of devices that run the engine's graphs; null on the CPU. */
  readonly devices?: number | null;
  /** Threads inside an operator of one worker's graphs; 1 by default. */
  readonly threads?: number;
}

/** The resource that limits the number of workers. */
type PlanReason = "setting" | "devices" | "cores" | "quota" | "memory" | "sockets";

interface PlannedWorkers {
  readonly count: number;
  /** Threads inside an operator, for each worker. */
  readonly threads: number;
  readonly reason: PlanReason;
}

export type WorkerPlan = Readonly<Record<EngineKind, PlannedWorkers>>;

/**
 * Share of memory for workers. The other half is for sessions, unsent speech, the database and other
 * programs.
 */
const MEMORY_SHARE = 0.5;
/** Sixteen workers serve 2,560 live sessions, more than the thread with their sockets can. */
const MOST_LIVE_WORKERS = 16;
/** More threads inside an operator would mostly wait for each other. */
const MOST_THREADS = 4;

/**
 * Plans the workers of each engine: at least one each, then one more in turn while cores and memory last.
 * Each engine may have as many threads as there are cores, since idle threads leave their cores to the
 * others, and niceness (`takeNiceness`) sets the priority if all are busy. Under a CPU quota, niceness has no
 * effect, so all engines together get as many threads as there are cores. An engine whose graphs run on
 * devices gets one worker per device.
 *
 * @param takenBytes memory of workers that are already planned
 */
export function planWorkers(
  machine: Pick<Machine, "cores" | "hasQuota" | "memoryBytes">,
  demands: Readonly<Record<EngineKind, WorkerDemand>>,
  takenBytes = 0,
): WorkerPlan {
  const counts = { live: 0, synthesis: 0, transcription: 0 };
  const threadsOf = (kind: EngineKind) => demands[kind].threads ?? 1;
  const busy = (kind: EngineKind) => counts[kind] * threadsOf(kind);
  let leftBytes = machine.memoryBytes * MEMORY_SHARE - takenBytes;
  const add = (kind: EngineKind, count: number) => {
    counts[kind] += count;
    leftBytes -= count * demands[kind].bytes;
  };
  for (const kind of ENGINE_KINDS) add(kind, demands[kind].wanted ?? demands[kind].devices ?? 1);
  const lacks = (kind: EngineKind): PlanReason | null => {
    if (demands[kind].wanted !== null) return "setting";
    // A second worker on a device would load its graphs twice, and the two would take turns.
    if ((demands[kind].devices ?? null) !== null) return "devices";
    if (busy(kind) >= machine.cores) return machine.hasQuota ? "quota" : "cores";
    if (kind === "live" && counts[kind] >= MOST_LIVE_WORKERS) return "sockets";
    if (machine.hasQuota && busy("live") + busy("synthesis") + busy("transcription") >= machine.cores)
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
  // The loop has ended, so every engine lacks some resource.
  const planned = (kind: EngineKind) => {
    return { count: counts[kind], threads: threadsOf(kind), reason: lacks(kind)! };
  };
  return { live: planned("live"), synthesis: planned("synthesis"), transcription: planned("transcription") };
}

/**
 * Returns the threads inside an operator of a live worker, unless the operator has set them. They are the
 * same as for other workers, but a model that cannot stream gets the cores of its workers: one of its passes
 * takes most of a final's delay, and its weights would take more memory in a second worker.
 */
function threadsOfLive(
  config: Pick<Config, "ortThreads" | "liveThreads" | "liveWorkers">,
  manifest: RecognizerManifest,
  { cores }: Pick<Machine, "cores">,
): number {
  if (config.liveThreads !== null) return config.liveThreads;
  if (recognizerFamilyOf(manifest).can.streams) return config.ortThreads;
  const share = Math.floor(cores / (config.liveWorkers ?? 1));
  return Math.max(config.ortThreads, Math.min(MOST_THREADS, share));
}

/** Measured memory of a thread: its heap, the runtime's working memory and batch buffers. */
const WORKER_BYTES = 96 * 2 ** 20;

/**
 * Estimates the memory of one worker: a base, plus the model's graphs, which the runtime packs for every
 * worker. Graphs of a gigabyte or more are not packed, and their workers share the pages of the file.
 */
async function workerBytes(model: PackageFolder): Promise<number> {
  const sizes = await Promise.all(Object.keys(model.manifest.files).map((name) => graphBytes(model, name)));
  return sizes.reduce((sum, bytes) => sum + (bytes < SHARED_FROM_BYTES ? bytes : 0), WORKER_BYTES);
}

/** Returns the size of a graph including its side files; 0 for other files and for missing ones. */
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

/** The workers of every installed model, by model ID. Each model has only workers for its task. */
export interface PlannedModels {
  readonly byModel: ReadonlyMap<string, WorkerPlan>;
  readonly ofDefaults: WorkerPlan;
}

/**
 * Plans the workers of the default models together. Each other model loads on demand, so it is planned as if
 * it replaced the default of its task, within the memory that the defaults leave.
 * @param deviceCount returns the number of devices that an engine's workers use; null on the CPU
 */
export async function planModels(
  config: Pick<
    Config,
    "liveWorkers" | "synthesisWorkers" | "fileWorkers" | "ortThreads" | "liveThreads" | "serve"
  > &
    Partial<Pick<Config, "role" | "liveLanes">>,
  { recognizers, synthesizers }: Pick<InstalledModels, "recognizers" | "synthesizers">,
  machine: Machine,
  deviceCount: (kind: EngineKind) => number | null = () => null,
): Promise<PlannedModels> {
  const [recognizer, ...recognizersByName] = recognizers;
  const [synthesizer, ...synthesizersByName] = synthesizers;
  if (recognizer === undefined || synthesizer === undefined) throw new RangeError("each task needs a model");
  // A part that is served elsewhere leaves its cores and memory to the other parts.
  const wantedOf = (kind: EngineKind, wanted: number | null) => (config.serve.includes(kind) ? wanted : 0);
  const demand = (kind: EngineKind, bytes: number, wanted: number | null): WorkerDemand => ({
    bytes,
    wanted: wantedOf(kind, wanted),
    devices: deviceCount(kind),
    threads: config.ortThreads,
  });
  const demandsOf = async (
    hearing: PackageFolder<RecognizerManifest>,
    speaking: PackageFolder<ModelManifest>,
  ): Promise<Readonly<Record<EngineKind, WorkerDemand>>> => {
    const { role = "all", liveLanes = 1, liveWorkers } = config;
    // The workers of a gateway are in other processes.
    if (role === "gateway") {
      return {
        live: { bytes: 0, wanted: wantedOf("live", liveLanes) },
        synthesis: { bytes: 0, wanted: wantedOf("synthesis", 1) },
        transcription: { bytes: 0, wanted: wantedOf("transcription", 1) },
      };
    }
    const [hearingBytes, speakingBytes] = await Promise.all([workerBytes(hearing), workerBytes(speaking)]);
    return {
      live: {
        ...demand("live", hearingBytes, liveWorkers),
        threads: threadsOfLive(config, hearing.manifest, machine),
      },
      synthesis: demand("synthesis", speakingBytes, config.synthesisWorkers),
      transcription: demand("transcription", hearingBytes, config.fileWorkers),
    };
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

/** Describes a plan like `1 live of 2 threads (cores), 2 synthesis (cores), 1 transcription (setting)`. */
export function describePlan(plan: WorkerPlan): string {
  const served = ENGINE_KINDS.filter((kind) => plan[kind].count > 0);
  const sizeOf = (threads: number) => (threads > 1 ? ` of ${threads} threads` : "");
  return served
    .map((kind) => `${plan[kind].count} ${kind}${sizeOf(plan[kind].threads)} (${plan[kind].reason})`)
    .join(", ");
}
