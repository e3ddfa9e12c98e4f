import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { freePort } from "../support/free-port.js";
import { type LiveRound, MESSAGE_SAMPLES, runLiveRound } from "../support/live-round.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { creditDevelopment, startServiceProcess } from "../support/service-process.js";
import { GAP_SAMPLES, SENTENCES, speakStream } from "../support/spoken-stream.js";

/** Limit for p99: the silence threshold plus 100 ms. */
const REACH_P99_MS = 300;
const COUNTS = [1, 8, 32, 64, 96, 128, 160, 192, 224, 256];
/**
 * `npm run bench -- live [64 128 ...]`: latency from the true end of speech to the final, for rising numbers
 * of paced sessions. Without numbers, it raises the load until p99 exceeds 300 ms, then searches for the
 * largest number that stays below.
 */
export async function run(options: BenchOptions): Promise<void> {
  const given = options.args.map(Number).filter((count) => Number.isInteger(count) && count > 0);
  const operatorPort = await freePort();
  const service = await startServiceProcess({ LIVE_PER_ORG: "1000", OPERATOR_PORT: String(operatorPort) });
  await creditDevelopment(service, 1_000_000_000);
  try {
    const sentences = options.smoke ? SENTENCES.slice(0, 1) : SENTENCES;
    const stream = await speakStream(service, sentences);
    const idleBytes = service.residentBytes();
    const rounds: LiveRound[] = [];
    for (const sessions of options.smoke ? [1] : given.length > 0 ? given : COUNTS) {
      const round = await runLiveRound({ service, operatorPort, stream, sessions });
      rounds.push(round);
      print(round);
      if (given.length === 0 && !keepsUp(round)) break;
    }
    if (options.smoke) return;
    const highest = rounds.filter(keepsUp).at(-1)?.sessions ?? null;
    console.log(`highest number of sessions with p99 within ${REACH_P99_MS} ms: ${highest}`);
    const parameters = { eouMs: 200, messageSamples: MESSAGE_SAMPLES, sentences, gapSamples: GAP_SAMPLES };
    const figures = rounds.map((round) => summary(round, idleBytes));
    await saveResult("live", {
      parameters,
      highestSessionsWithin: { p99Ms: REACH_P99_MS, sessions: highest },
      rounds: figures.map((figure, index) => ({ ...figure, raw: kept(rounds[index]!) })),
    });
  } finally {
    await service.stop();
  }
}

/** Returns the part of a round that is saved: percentiles instead of thousands of partials. */
function kept({ partialLagsMs: _, metrics: __, ...round }: LiveRound) {
  const rounded = (values: readonly number[]) => values.map((value) => Math.round(10 * value) / 10);
  return {
    ...round,
    finalLatenciesMs: rounded(round.finalLatenciesMs),
    firstPartialsMs: rounded(round.firstPartialsMs),
  };
}

function keepsUp(round: LiveRound): boolean {
  const latency = percentiles(round.finalLatenciesMs);
  return round.missedFinals === 0 && latency !== null && latency.p99 <= REACH_P99_MS;
}

function summary(round: LiveRound, idleBytes: number) {
  return {
    sessions: round.sessions,
    finalLatencyMs: percentiles(round.finalLatenciesMs),
    firstPartialMs: percentiles(round.firstPartialsMs),
    partialLagMs: percentiles(round.partialLagsMs),
    missedFinals: round.missedFinals,
    realTimeFactor: round.cpuSeconds / round.audioSeconds,
    coresUsed: round.cpuSeconds / round.wallSeconds,
    workerBusyShare: round.workerBusySeconds / round.wallSeconds,
    /** Share of the graphs in the worker's waking time. */
    runShare: round.workerRunSeconds / Math.max(round.workerBusySeconds, 1e-9),
    meanStepMs: (1_000 * round.stepSeconds) / Math.max(round.steps, 1),
    residentMegabytes: Math.round(round.residentBytes / 1e6),
    /**
     * Growth of the process since before the first session; memory of earlier rounds is not returned
     * immediately.
     */
    megabytesPerSession: (round.residentBytes - idleBytes) / 1e6 / round.sessions,
  };
}

export type LiveFigure = ReturnType<typeof summary>;

function print(round: LiveRound): void {
  const figure = summary(round, round.residentBytes);
  const share = (value: number) => `${Math.round(100 * value)} %`;
  console.log(
    `${String(round.sessions).padStart(4)} sessions (p50/p95/p99): ` +
      `${showPercentiles("end of speech to final", figure.finalLatencyMs)}, ` +
      `${showPercentiles("onset to first partial", figure.firstPartialMs)}, ` +
      `CPU per audio second ${figure.realTimeFactor.toFixed(3)}, worker awake ${share(figure.workerBusyShare)}, ` +
      `of that in the graphs ${share(figure.runShare)}, missed finals ${round.missedFinals}`,
  );
}
