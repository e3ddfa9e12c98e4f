import type { ModelManifest } from "../../native/models/manifest.js";
import type { PackageFolder } from "../../native/models/package.js";
import type { Config } from "../settings/settings.js";
import type { InstalledModels } from "./installed-models.js";
import type { Machine } from "./machine.js";
import { workerBytes } from "./worker-memory.js";
import {
  ENGINE_KINDS,
  type EngineKind,
  planWorkers,
  type WorkerDemand,
  type WorkerPlan,
} from "./worker-plan.js";

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
