import { uniformRandom } from "../../../core/domain/statistics/uniform-random.js";
import { Histogram } from "./histogram.js";
import { cpuPercent, type LevelContext, pause } from "./level.js";
import { type Outcome, summarized } from "./outcome.js";
import type { LevelResult } from "./result.js";

const SEED = 1;
/**
 * Most open requests. Beyond this the bench fails new ones: the service is past its knee, and sockets are
 * limited.
 */
const MOST_OPEN = 2_000;

/**
 * Returns when requests are due, in milliseconds. The schedule is open-loop: fixed before the first response.
 *
 * @param isEven sends at even intervals; otherwise as a Poisson process with a fixed seed
 */
export function arrivals(ratePerSecond: number, seconds: number, isEven: boolean): readonly number[] {
  const random = uniformRandom(SEED);
  const meanMs = 1_000 / ratePerSecond;
  const times: number[] = [];
  for (let atMs = 0; atMs < seconds * 1_000; ) {
    times.push(atMs);
    atMs += isEven ? meanMs : -Math.log(1 - random()) * meanMs;
  }
  return times;
}

/** One request of a schedule. */
export interface Call {
  /** Credits that are reserved before the call starts. */
  readonly estimate: number;
  /** @param dueAtMs when the call is due; delays count from then, even if the request leaves late */
  run(
    dueAtMs: number,
  ): Promise<
    Omit<Outcome, "credits" | "timed"> & { readonly charged: number | null; readonly main: number | null }
  >;
}

/** Starts each call when it is due, even if earlier ones are still unanswered. */
export async function runSchedule(
  { budget, signal, progress, isEven }: LevelContext,
  callOf: (nth: number) => Call,
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
): Promise<LevelResult> {
  const lateness = new Histogram();
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  progress.load = rate;
  progress.endsAtMs = startedAtMs + seconds * 1_000;
  const running: Promise<Outcome | null>[] = [];
  const one = async (call: Call, dueAtMs: number): Promise<Outcome | null> => {
    progress.active++;
    const { charged, main, ...outcome } = await call.run(dueAtMs);
    progress.active--;
    const credits = budget.settle(call.estimate, outcome.failure === null ? charged : 0);
    // A request that Ctrl-C ended did not fail.
    if (outcome.failure !== null && signal.aborted) return null;
    if (outcome.failure !== null) progress.failed++;
    progress.last = main ?? progress.last;
    const timed = main === null ? [] : [{ second: (dueAtMs - startedAtMs) / 1_000, value: main }];
    return { ...outcome, timed, credits };
  };
  for (const [nth, atMs] of arrivals(rate, seconds, isEven).entries()) {
    const dueAtMs = startedAtMs + atMs;
    await pause(dueAtMs - performance.now(), signal);
    const call = callOf(nth);
    if (signal.aborted || !budget.reserve(call.estimate)) break;
    lateness.add(performance.now() - dueAtMs);
    running.push(one(progress.active < MOST_OPEN ? call : { ...call, run: tooMany }, dueAtMs));
  }
  const outcomes = (await Promise.all(running)).filter((outcome) => outcome !== null);
  const wallMs = performance.now() - startedAtMs;
  return summarized(outcomes, {
    load: rate,
    seconds: wallMs / 1_000,
    own_cpu_percent: cpuPercent(cpuBefore, wallMs),
    lateness,
  });
}

const tooMany: Call["run"] = async () => failedCall(`not sent: ${MOST_OPEN} requests were open`);

export function failedCall(failure: string): Awaited<ReturnType<Call["run"]>> {
  return {
    ...{ values: {}, words: [], missed: 0, sentences: 0, underruns: 0, failure },
    ...{ charged: null, main: null },
  };
}
