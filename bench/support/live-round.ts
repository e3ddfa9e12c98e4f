import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";
import { type LiveRun, runLive } from "./live-client.js";
import { type MetricValues, readMetrics, risen } from "./operator-metrics.js";
import type { ServiceProcess } from "./service-process.js";
import { GAP_SAMPLES, SAMPLE_RATE_HZ, type SpokenStream } from "./spoken-stream.js";

/** Size of a typical client message: 40 ms. */
export const MESSAGE_SAMPLES = 640;
/** Period over which sessions start, because people do not all start speaking at the same moment. */
const SPREAD_MS = 2_000;
const MESSAGE_MS = (1_000 * MESSAGE_SAMPLES) / SAMPLE_RATE_HZ;
/** Phases of sessions: at equal distances, many would meet the same moment of the worker's rounds. */
const phase = uniformRandom(1);

/** Paced sessions that all receive the same stream. */
export interface LiveRound {
  readonly sessions: number;
  readonly finalLatenciesMs: readonly number[];
  readonly finalLatenciesBySession: readonly (readonly number[])[];
  readonly firstPartialsMs: readonly number[];
  readonly partialLagsMs: readonly number[];
  readonly missedFinals: number;
  readonly audioSeconds: number;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly residentBytes: number;
  /** Time for which the live workers were awake, and inside graph runs. */
  readonly workerBusySeconds: number;
  readonly workerRunSeconds: number;
  readonly steps: number;
  readonly stepSeconds: number;
  /** Values read after the last session closed. */
  readonly metrics: MetricValues;
}

export async function runLiveRound(parts: {
  readonly service: ServiceProcess;
  readonly operatorPort: number;
  readonly stream: SpokenStream;
  readonly sessions: number;
  /** Query parameters of the socket. */
  readonly query?: string;
}): Promise<LiveRound> {
  const { service, operatorPort, stream, sessions, query } = parts;
  const metricsBefore = await readMetrics(operatorPort);
  const cpuBefore = service.cpuSeconds();
  const startedAtMs = performance.now();
  const runs = await Promise.all(
    Array.from({ length: sessions }, async (_, index) => {
      const startMs = (index * SPREAD_MS) / sessions + phase() * MESSAGE_MS;
      await new Promise((resolve) => setTimeout(resolve, startMs));
      return runLive({
        url: service.url,
        key: service.key,
        pcm: stream.pcm,
        messageSamples: MESSAGE_SAMPLES,
        isPaced: true,
        ...(query === undefined ? {} : { query }),
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
    finalLatenciesBySession: timed.map((times) => times.finalLatenciesMs),
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
    metrics,
  };
}

/**
 * Returns the latencies of one session. The final of an utterance is the last one that ends within half a
 * second of the utterance's end.
 */
export function timesOf(live: LiveRun, stream: SpokenStream) {
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
