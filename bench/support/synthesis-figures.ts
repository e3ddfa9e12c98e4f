import type { SpeechRun } from "./speech-client.js";
import type { EngineFigures } from "./synthesis-floor.js";

/** Requests sent concurrently, to share runs, or one by one. */
export interface Pass {
  readonly runs: readonly SpeechRun[];
  readonly wallMs: number;
  /** CPU time of the whole service. */
  readonly cpuMs: number;
}

export interface Round {
  readonly nfe: number;
  readonly streams: number;
  readonly shared: readonly Pass[];
  readonly serial: readonly Pass[];
}

export type Order = "shared" | "serial";
export function summary({ nfe, streams, shared, serial }: Round) {
  const firstAudio = (passes: readonly Pass[]) => {
    const times = passes.flatMap(({ runs }) => runs.map(({ firstAudioMs }) => firstAudioMs));
    return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) };
  };
  const totalOf = (passes: readonly Pass[]) => ({
    audioMs: sumOf(passes.flatMap(({ runs }) => runs.map(({ audioSeconds }) => 1_000 * audioSeconds))),
    wallMs: sumOf(passes.map(({ wallMs }) => wallMs)),
    cpuMs: sumOf(passes.map(({ cpuMs }) => cpuMs)),
  });
  const [sharedTotal, serialTotal] = [totalOf(shared), totalOf(serial)];
  return {
    nfe,
    streams,
    sharedFirstAudioMs: firstAudio(shared),
    serialFirstAudioMs: firstAudio(serial),
    sharedRealTimeFactor: sharedTotal.wallMs / sharedTotal.audioMs,
    serialRealTimeFactor: serialTotal.wallMs / serialTotal.audioMs,
    /** Ratio of audio per second, shared / serial. */
    throughputRatio: serialTotal.wallMs / sharedTotal.wallMs,
    /** Ratio for each half of the round, to estimate the machine's noise. */
    throughputRatios: shared.map(({ wallMs }, pass) => serial[pass]!.wallMs / wallMs),
    /** Ratio of audio per second of CPU, shared / serial. */
    cpuRatio: serialTotal.cpuMs / sharedTotal.cpuMs,
    /** Ratio of first audio, shared / serial. */
    firstAudioRatio: {
      p50: firstAudio(shared).p50 / firstAudio(serial).p50,
      p95: firstAudio(shared).p95 / firstAudio(serial).p95,
    },
  };
}

/** Estimates over all rounds with more than one stream. */
interface Pooled {
  /** Audio per second, shared / serial: geometric mean over pairs of passes, with its 95 % interval. */
  readonly throughputRatio: Estimate;
  /** Ratio per second of CPU, which depends less on other load. */
  readonly cpuRatio: Estimate;
  readonly pairs: number;
}

interface Estimate {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export function pooledThroughput(rounds: readonly Round[]): Pooled {
  const pairs = rounds
    .filter(({ streams }) => streams > 1)
    .flatMap(({ shared, serial }) => shared.map((pass, nth) => ({ shared: pass, serial: serial[nth]! })));
  return {
    throughputRatio: geometricMean(pairs.map(({ shared, serial }) => serial.wallMs / shared.wallMs)),
    cpuRatio: geometricMean(pairs.map(({ shared, serial }) => serial.cpuMs / shared.cpuMs)),
    pairs: pairs.length,
  };
}

/** Computes the mean of logarithms, with two standard errors on each side. */
function geometricMean(ratios: readonly number[]): Estimate {
  const logs = ratios.map(Math.log);
  const mean = sumOf(logs) / logs.length;
  const variance = sumOf(logs.map((log) => (log - mean) ** 2)) / (logs.length - 1);
  const margin = 2 * Math.sqrt(variance / logs.length);
  return { mean: Math.exp(mean), low: Math.exp(mean - margin), high: Math.exp(mean + margin) };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN);
}

export function describe({ firstAudioMs, audioSeconds, totalMs }: SpeechRun): string {
  const factor = totalMs / 1_000 / audioSeconds;
  return `first audio ${Math.round(firstAudioMs)} ms, ${audioSeconds.toFixed(1)} s of audio, RTF ${factor.toFixed(2)}`;
}

export function printEngine({ busyShare, floorShare, runsAfterCancel }: EngineFigures): void {
  console.log(
    `worker inside the runtime ${(100 * busyShare).toFixed(1)} % of its time, bare model ${floorShare.toFixed(3)} of ` +
      `the engine's time; at most ${Math.max(...runsAfterCancel)} model runs after a cancel`,
  );
}

export function printPooled({ throughputRatio, cpuRatio, pairs }: Pooled): void {
  const shown = ({ mean, low, high }: Estimate) =>
    `${mean.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
  console.log(
    `sharing compared with one by one, ${pairs} pairs of passes: throughput ${shown(throughputRatio)}, of CPU ${shown(cpuRatio)}`,
  );
}

export function printRound(round: Round): void {
  const { sharedFirstAudioMs, serialFirstAudioMs, ...rest } = summary(round);
  console.log(
    `${String(rest.streams).padStart(3)} streams, nfe ${rest.nfe}: first audio ` +
      `${sharedFirstAudioMs.p50}/${sharedFirstAudioMs.p95} ms shared, ` +
      `${serialFirstAudioMs.p50}/${serialFirstAudioMs.p95} ms one after another (p50/p95); ` +
      `RTF ${rest.sharedRealTimeFactor.toFixed(3)}, throughput ratio ${rest.throughputRatio.toFixed(2)} ` +
      `(${rest.throughputRatios.map((ratio) => ratio.toFixed(2)).join(", ")}; of CPU time ${rest.cpuRatio.toFixed(2)}), ` +
      `first audio ratio ${rest.firstAudioRatio.p50.toFixed(2)}/${rest.firstAudioRatio.p95.toFixed(2)}`,
  );
}
