import { freeLoopbackPort } from "../../src/store/postgres/loopback-port.js";
import { saveResult } from "../save-result.js";
import { drawLiveChart } from "../support/live-chart.js";
import { type LiveRun, runLive } from "../support/live-client.js";
import { readMetrics, risen } from "../support/operator-metrics.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import {
  GAP_SAMPLES,
  SAMPLE_RATE_HZ,
  SENTENCES,
  type SpokenStream,
  speakStream,
} from "../support/spoken-stream.js";

/** What clients usually send: 40 ms a message. */
const MESSAGE_SAMPLES = 640;
/** The threshold of silence and 100 ms. */
const REACH_P99_MS = 300;
const COUNTS = [1, 8, 32, 64, 96, 128, 160, 192, 224, 256];
/** People do not start to speak at the same moment. */
const SPREAD_MS = 2_000;

interface Round {
  readonly sessions: number;
  readonly finalLatenciesMs: readonly number[];
  readonly firstPartialsMs: readonly number[];
  readonly partialLagsMs: readonly number[];
  readonly missedFinals: number;
  readonly audioSeconds: number;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly residentBytes: number;
  /** Of the live workers: awake, and inside runs of the graphs. */
  readonly workerBusySeconds: number;
  readonly workerRunSeconds: number;
  readonly steps: number;
  readonly stepSeconds: number;
}

/**
 * `npm run bench -- live [64 128 ...]`: latency from the true end of speech to the final, for rising numbers of paced
 * sessions. Without numbers it goes on until p99 is beyond 300 ms, and looks for the number where it is not yet.
 */
export async function run(options: {
  readonly smoke: boolean;
  readonly args: readonly string[];
}): Promise<void> {
  const given = options.args.map(Number).filter((count) => Number.isInteger(count) && count > 0);
  const operatorPort = await freeLoopbackPort();
  const service = await startServiceProcess({ LIVE_PER_ORG: "1000", OPERATOR_PORT: String(operatorPort) });
  await creditDevelopment(service, 1_000_000_000);
  try {
    const sentences = options.smoke ? SENTENCES.slice(0, 1) : SENTENCES;
    const stream = await speakStream(service, sentences);
    const idleBytes = service.residentBytes();
    const rounds: Round[] = [];
    for (const sessions of options.smoke ? [1] : given.length > 0 ? given : COUNTS) {
      const round = await measure({ service, operatorPort, stream, sessions });
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
    await drawLiveChart(figures, REACH_P99_MS);
  } finally {
    await service.stop();
  }
}

/** What is saved of a round: partials come by the thousand, their percentiles do. */
function kept({ partialLagsMs: _, ...round }: Round) {
  const rounded = (values: readonly number[]) => values.map((value) => Math.round(10 * value) / 10);
  return {
    ...round,
    finalLatenciesMs: rounded(round.finalLatenciesMs),
    firstPartialsMs: rounded(round.firstPartialsMs),
  };
}

function keepsUp(round: Round): boolean {
  const latency = percentiles(round.finalLatenciesMs);
  return round.missedFinals === 0 && latency !== null && latency.p99 <= REACH_P99_MS;
}

async function measure(parts: {
  readonly service: ServiceProcess;
  readonly operatorPort: number;
  readonly stream: SpokenStream;
  readonly sessions: number;
}): Promise<Round> {
  const { service, operatorPort, stream, sessions } = parts;
  const metricsBefore = await readMetrics(operatorPort);
  const cpuBefore = service.cpuSeconds();
  const startedAtMs = performance.now();
  const runs = await Promise.all(
    Array.from({ length: sessions }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, (index * SPREAD_MS) / sessions));
      return runLive({
        url: service.url,
        key: service.key,
        pcm: stream.pcm,
        messageSamples: MESSAGE_SAMPLES,
        isPaced: true,
      });
    }),
  );
  const wallSeconds = (performance.now() - startedAtMs) / 1_000;
  const cpuSeconds = service.cpuSeconds() - cpuBefore;
  const metrics = await readMetrics(operatorPort);
  const timed = runs.map((live) => timesOf(live, stream));
  return {
    sessions,
    finalLatenciesMs: timed.flatMap((times) => times.finalLatenciesMs),
    firstPartialsMs: timed.flatMap((times) => times.firstPartialsMs),
    partialLagsMs: timed.flatMap((times) => times.partialLagsMs),
    missedFinals: timed.reduce((total, times) => total + times.missedFinals, 0),
    audioSeconds: (sessions * stream.pcm.length) / SAMPLE_RATE_HZ,
    cpuSeconds,
    wallSeconds,
    residentBytes: service.residentBytes(),
    workerBusySeconds: risen(metricsBefore, metrics, "live_worker_busy_seconds_total"),
    workerRunSeconds: risen(metricsBefore, metrics, "live_worker_run_seconds_total"),
    steps: risen(metricsBefore, metrics, "asr_step_ms_count"),
    stepSeconds: risen(metricsBefore, metrics, "asr_step_ms_sum") / 1_000,
  };
}

/** Latencies of one session. An utterance's final is the last one that ends within half a second of its end. */
function timesOf(live: LiveRun, stream: SpokenStream) {
  const wallOf = (sample: number) => live.startedAtMs + (sample / SAMPLE_RATE_HZ) * 1_000;
  const finalLatenciesMs: number[] = [];
  const firstPartialsMs: number[] = [];
  const partialLagsMs: number[] = [];
  let missedFinals = 0;
  for (const { onsetSample, endSample } of stream.utterances) {
    const final = live.received.findLast(
      ({ message }) => message.type === "final" && Math.abs(message.end - endSample / SAMPLE_RATE_HZ) < 0.5,
    );
    if (final === undefined) missedFinals++;
    else finalLatenciesMs.push(final.atMs - wallOf(endSample));
    const partials = live.received.filter(
      ({ message, atMs }) =>
        message.type === "partial" && atMs > wallOf(onsetSample) && atMs < wallOf(endSample + GAP_SAMPLES),
    );
    if (partials[0] !== undefined) firstPartialsMs.push(partials[0].atMs - wallOf(onsetSample));
    for (const { message, atMs } of partials) {
      if (message.type === "partial") partialLagsMs.push(atMs - wallOf(message.end * SAMPLE_RATE_HZ));
    }
  }
  return { finalLatenciesMs, firstPartialsMs, partialLagsMs, missedFinals };
}

function summary(round: Round, idleBytes: number) {
  return {
    sessions: round.sessions,
    finalLatencyMs: percentiles(round.finalLatenciesMs),
    firstPartialMs: percentiles(round.firstPartialsMs),
    partialLagMs: percentiles(round.partialLagsMs),
    missedFinals: round.missedFinals,
    realTimeFactor: round.cpuSeconds / round.audioSeconds,
    coresUsed: round.cpuSeconds / round.wallSeconds,
    workerBusyShare: round.workerBusySeconds / round.wallSeconds,
    /** Of the time that the worker was awake. */
    runShare: round.workerRunSeconds / Math.max(round.workerBusySeconds, 1e-9),
    meanStepMs: (1_000 * round.stepSeconds) / Math.max(round.steps, 1),
    residentMegabytes: Math.round(round.residentBytes / 1e6),
    /** What the process has grown by since before the first session; memory of earlier rounds is not given back at once. */
    megabytesPerSession: (round.residentBytes - idleBytes) / 1e6 / round.sessions,
  };
}

export type LiveFigure = ReturnType<typeof summary>;

function print(round: Round): void {
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
