import { setMaxListeners } from "node:events";
import { availableParallelism, cpus } from "node:os";
import { arrivals } from "./arrivals.js";
import { Budget } from "./budget.js";
import { RATE_HZ } from "./clips.js";
import { filesEstimate, runFilesLevel } from "./files.js";
import { closeConnections } from "./http-call.js";
import type { LevelContext, LevelPlan, Progress, RunLevel } from "./level.js";
import { liveEstimate, runLiveLevel } from "./live.js";
import { doubledLoads, rampedLevels } from "./ramp.js";
import { requestsEstimate, runRequestsLevel } from "./requests.js";
import { type BenchResult, type LevelResult, RESULT_FORMAT, type Scenario } from "./result.js";
import { runSpeechLevel, speechEstimate } from "./speech.js";

export interface BenchPlan extends LevelPlan {
  readonly scenario: Scenario;
  /** Sessions, or requests per second; the highest load of a ramp. */
  readonly load: number;
  readonly minutes: number;
  readonly isRamp: boolean;
  /** Limit in credits; null for none. */
  readonly budget: number | null;
}

const RUN_LEVEL: Readonly<Record<Scenario, RunLevel>> = {
  live: runLiveLevel,
  speech: runSpeechLevel,
  files: runFilesLevel,
  requests: runRequestsLevel,
};

/** A service answers its first request more slowly, so one unmeasured sentence or request goes ahead. */
const WARM_UP = { load: 1, seconds: 0.001 } as const;

/** Returns the price of a whole run by our service's tariff. A ramp that ends early costs less. */
export function estimatedCredits(plan: BenchPlan): number {
  const loads = plan.isRamp ? doubledLoads(plan.scenario, plan.load) : [plan.load];
  const levels = [WARM_UP, ...loads.map((load) => ({ load, seconds: plan.minutes * 60 }))];
  return levels.reduce((sum, { load, seconds }) => {
    if (plan.scenario === "live") return sum + liveEstimate(plan, load, seconds);
    const requests = arrivals(load, seconds, plan.isEven).length;
    if (plan.scenario === "speech") return sum + speechEstimate(requests);
    return plan.scenario === "files" ? sum + filesEstimate(plan, requests) : sum + requestsEstimate();
  }, 0);
}

/**
 * Runs a bench. If the signal is aborted, the run ends early with the results so far.
 *
 * @param onLevel called with each level after it was measured
 */
export async function runBench(
  plan: BenchPlan,
  {
    signal,
    progress = emptyProgress(),
    onLevel = () => {},
  }: {
    readonly signal: AbortSignal;
    readonly progress?: Progress;
    readonly onLevel?: (level: LevelResult) => void;
  },
): Promise<BenchResult> {
  const budget = new Budget(plan.budget ?? Number.POSITIVE_INFINITY);
  const context: LevelContext = { ...plan, budget, signal, progress };
  const date = new Date().toISOString();
  // Every open request listens to this signal.
  setMaxListeners(0, signal);
  const measure = async (load: number): Promise<LevelResult | null> => {
    if (signal.aborted || budget.isUsedUp) return null;
    const level = await RUN_LEVEL[plan.scenario](context, load, plan.minutes * 60);
    if (level.started === 0) return null;
    onLevel(level);
    return level;
  };
  try {
    await RUN_LEVEL[plan.scenario](context, WARM_UP.load, WARM_UP.seconds);
    const { levels, knee } = plan.isRamp
      ? await rampedLevels(plan.scenario, plan.load, measure)
      : { levels: [await measure(plan.load)].filter((level) => level !== null), knee: null };
    return {
      ...{ format: RESULT_FORMAT, date, url: plan.url, scenario: plan.scenario, wire: plan.wire },
      parameters: parametersOf(plan),
      clips: plan.clips.map(({ name, pcm, licence }) => ({ name, seconds: pcm.length / RATE_HZ, licence })),
      machine: { cpu: cpus()[0]?.model ?? process.arch, cores: availableParallelism() },
      node: process.version,
      end: signal.aborted ? "interrupted" : budget.isUsedUp ? "budget" : "complete",
      credits_estimated: estimatedCredits(plan),
      credits: budget.spent,
      ...{ levels, knee },
    };
  } finally {
    closeConnections();
  }
}

export function emptyProgress(): Progress {
  return { load: 0, endsAtMs: performance.now(), active: 0, failed: 0, last: null };
}

function parametersOf({ load, minutes, isRamp, isEven, budget, model, voice, eouMs }: BenchPlan) {
  return { load, minutes, ramp: isRamp, even: isEven, budget, model, voice, eou_ms: eouMs };
}
