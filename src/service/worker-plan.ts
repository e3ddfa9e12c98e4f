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
