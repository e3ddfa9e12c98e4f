import { uniformRandom } from "../../../core/domain/statistics/uniform-random.js";
import { creditsFor, LIVE_TARIFF } from "../../../core/domain/usage/tariff.js";
import { cpuPercent, type LevelContext, type LevelPlan, pause } from "./level.js";
import { runSession } from "./live-session.js";
import { outcomeOf } from "./live-times.js";
import { LIVE_WIRES } from "./live-wires.js";
import { type Outcome, summarized } from "./outcome.js";
import { Pacer } from "./pacer.js";
import type { LevelResult } from "./result.js";
import { MESSAGE_MS, type SpokenPlan, spokenPlans } from "./spoken-plan.js";

/**
 * Sessions start within this time, or every 5 ms if there are many: a burst of handshakes is a different
 * test.
 */
const SPREAD_MS = 2_000;
const LEAST_DISTANCE_MS = 5;
/** For the phases of sessions: at equal distances all would meet the same moment of the service's rounds. */
const PHASE_SEED = 1;

/** See `SessionParts.gridMs`. Messages leave in groups of about 60, or 200 with 2,000 sessions: in 1 to 2 ms. */
const GRID_MS = 4;
const COARSE_GRID_MS = 10;
const MOST_ON_COARSE_GRID = 250;

/** Runs live sessions that all speak whole sentences for `seconds`. */
export async function runLiveLevel(
  context: LevelContext,
  sessions: number,
  seconds: number,
): Promise<LevelResult> {
  const wire = LIVE_WIRES[context.wire];
  const plans = spokenPlans(context.clips, wire, seconds);
  const pacer = new Pacer();
  const random = uniformRandom(PHASE_SEED);
  const { budget, signal, progress } = context;
  const gridMs = sessions > MOST_ON_COARSE_GRID ? GRID_MS : COARSE_GRID_MS;
  const spreadMs = Math.max(SPREAD_MS, sessions * LEAST_DISTANCE_MS);
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  progress.load = sessions;
  progress.endsAtMs = startedAtMs + spreadMs + plans[0]!.seconds * 1_000;
  const running: Promise<Outcome>[] = [];
  for (let nth = 0; nth < sessions && !signal.aborted; nth++) {
    await pause(startedAtMs + (nth * spreadMs) / sessions - performance.now(), signal);
    const plan = planOf(plans, nth);
    const estimate = priceOf(plan.seconds);
    if (signal.aborted || !budget.reserve(estimate)) break;
    progress.active++;
    const phaseMs = MESSAGE_MS * random();
    const parts = { ...context, wire, options: context, plan, pacer, phaseMs, gridMs };
    running.push(
      runSession(parts).then((run) => {
        progress.active--;
        const credits = budget.settle(estimate, run.credits ?? priceOf(run.sentSeconds));
        const outcome = { ...outcomeOf(run, plan, startedAtMs), credits };
        if (outcome.failure !== null) progress.failed++;
        progress.last = outcome.timed.at(-1)?.value ?? progress.last;
        return outcome;
      }),
    );
  }
  const outcomes = await Promise.all(running);
  pacer.stop();
  const wallMs = performance.now() - startedAtMs;
  return summarized(outcomes, {
    load: sessions,
    seconds: wallMs / 1_000,
    own_cpu_percent: cpuPercent(cpuBefore, wallMs),
    lateness: pacer.lateness,
  });
}

/** Returns the price of what every session would speak. */
export function liveEstimate({ clips, wire }: LevelPlan, sessions: number, seconds: number): number {
  const plans = spokenPlans(clips, LIVE_WIRES[wire], seconds);
  let credits = 0;
  for (let nth = 0; nth < sessions; nth++) credits += priceOf(planOf(plans, nth).seconds);
  return credits;
}

function planOf(plans: readonly SpokenPlan[], nth: number): SpokenPlan {
  return plans[nth % plans.length]!;
}

function priceOf(seconds: number): number {
  const unitsPerSecond = 1_000 / MESSAGE_MS;
  return creditsFor({ units: Math.round(seconds * unitsPerSecond), unitsPerSecond }, LIVE_TARIFF);
}
