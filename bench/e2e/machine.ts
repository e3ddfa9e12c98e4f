import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { writeWav } from "../../core/domain/audio/wav.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { freePort } from "../support/free-port.js";
import { runLiveRound } from "../support/live-round.js";
import { type MetricValues, readMetrics } from "../support/operator-metrics.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { streamPcm } from "../support/speech-client.js";
import { SAMPLE_RATE_HZ, SENTENCES, type SpokenStream, speakStream } from "../support/spoken-stream.js";
import { threadTimes, ticksByNiceness } from "../support/thread-times.js";

/** Sessions per core, at which a live worker is busy less than half of the time. */
const SESSIONS_PER_CORE = 32;
/** Listeners per core: more than there are workers, so that none is ever idle. */
const LISTENERS_PER_CORE = 4;
const FILES_PER_CORE = 2;
/** Repetitions of the stream in a file, for ten minutes. */
const FILE_REPEATS = 25;
/** Repetitions of the stream, enough for meaningful percentiles. */
const LIVE_REPEATS = 2;
const NFE = 16;

/** Concurrent work. */
interface Mix {
  readonly name: string;
  readonly live: boolean;
  /** "one" requests a sentence once the last has arrived; "many" keep every worker busy. */
  readonly listeners: "none" | "one" | "many";
  readonly files: boolean;
}

const EVERYTHING: Mix = { name: "live, many listeners, files", live: true, listeners: "many", files: true };
const MIXES: readonly Mix[] = [
  { name: "live", live: true, listeners: "none", files: false },
  EVERYTHING,
  { name: "one listener", live: false, listeners: "one", files: false },
  { name: "one listener, files", live: false, listeners: "one", files: true },
  { name: "live, one listener, files", live: true, listeners: "one", files: true },
];

/**
 * `npm run bench -- machine [CORES]`: live sessions, speech and files at the same time compared with each
 * alone, with automatic workers: delay of finals, first audio, speed of files, and delays of the main thread.
 * With CORES, the service runs on that many of the first cores, and the load on the others if there are any
 * (Linux). Takes five minutes.
 */
export async function run({ smoke, args }: BenchOptions): Promise<void> {
  const all = availableParallelism();
  const cores = Math.min(all, Number(args[0] ?? all));
  const operatorPort = await freePort();
  const auto = smoke ? {} : { LIVE_WORKERS: "auto", FILE_WORKERS: "auto", SYNTHESIS_WORKERS: "auto" };
  const limits = { LIVE_PER_ORG: "10000", SYNTHESIS_PER_ORG: "1000", FILES_PER_ORG: "1000" };
  if (cores < all) pin(process.pid, `${cores}-${all - 1}`);
  const service = await startServiceProcess(
    { ...auto, ...limits, OPERATOR_PORT: String(operatorPort) },
    cores < all ? { cpus: `0-${cores - 1}` } : {},
  );
  try {
    await creditDevelopment(service, 1_000_000_000);
    const stream = await speakStream(service, smoke ? SENTENCES.slice(0, 1) : SENTENCES);
    const load = { service, operatorPort, stream, cores, smoke };
    // Warm up, so that every worker is loaded, and all code has run once.
    if (!smoke) await measure({ ...load, smoke: true }, EVERYTHING);
    const mixes = [];
    for (const mix of smoke ? [EVERYTHING] : MIXES) {
      const figures = await measure(load, mix);
      mixes.push(figures);
      print(figures);
    }
    const plan = [...(await readMetrics(operatorPort))].filter(([name]) =>
      name.startsWith("engine_workers{"),
    );
    console.log(plan.map(([name, count]) => `${name} ${count}`).join("\n"));
    if (smoke) return;
    const parameters = {
      cores,
      sessions: cores * SESSIONS_PER_CORE,
      listeners: cores * LISTENERS_PER_CORE,
      nfe: NFE,
      files: cores * FILES_PER_CORE,
      workers: Object.fromEntries(plan),
    };
    console.log(await saveResult(cores === all ? "machine" : `machine-${cores}`, { parameters, mixes }));
  } finally {
    await service.stop();
  }
}

interface Load {
  readonly service: ServiceProcess;
  readonly operatorPort: number;
  readonly stream: SpokenStream;
  readonly cores: number;
  readonly smoke: boolean;
}

/**
 * Measures one mix. Speech and files run for as long as the sessions do, or would in a round without them.
 */
async function measure({ service, operatorPort, stream, cores, smoke }: Load, mix: Mix) {
  const pid = service.child.pid!;
  const spoken = repeated(stream, smoke ? 1 : LIVE_REPEATS);
  const wav = writeWav(repeated(stream, smoke ? 1 : FILE_REPEATS).pcm, SAMPLE_RATE_HZ);
  const stop = new AbortController();
  const firstAudioMs: number[] = [];
  let speechSeconds = 0;
  const listener = async (nth: number) => {
    for (let turn = nth; !stop.signal.aborted; turn++) {
      const run = await streamPcm(service, { input: SENTENCES[turn % SENTENCES.length]!, nfe: NFE });
      firstAudioMs.push(run.firstAudioMs);
      speechSeconds += run.audioSeconds;
    }
  };
  const uploader = async () => {
    while (!stop.signal.aborted) await transcribe(service, wav, stop.signal);
  };
  const listeners = { none: 0, one: 1, many: smoke ? 1 : cores * LISTENERS_PER_CORE }[mix.listeners];
  const uploads = mix.files ? (smoke ? 1 : cores * FILES_PER_CORE) : 0;
  const before = { threads: threadTimes(pid), metrics: await readMetrics(operatorPort) };
  const startedAtMs = performance.now();
  const others = Promise.all([
    ...Array.from({ length: listeners }, (_, nth) => listener(nth)),
    ...Array.from({ length: uploads }, uploader),
  ]);
  // Awaited at the end. Without this, an earlier failure would end this process and leave the service
  // running.
  others.catch(() => {});
  const sessions = mix.live ? (smoke ? 1 : cores * SESSIONS_PER_CORE) : 0;
  const round = await runLiveRound({ service, operatorPort, stream: spoken, sessions });
  if (!mix.live)
    await new Promise((resolve) => setTimeout(resolve, (1_000 * spoken.pcm.length) / SAMPLE_RATE_HZ));
  const after = { threads: threadTimes(pid), metrics: mix.live ? null : await readMetrics(operatorPort) };
  const wallSeconds = (performance.now() - startedAtMs) / 1_000;
  stop.abort();
  await others;
  const ticks = ticksByNiceness(before.threads, after.threads, pid);
  return {
    name: mix.name,
    wallSeconds,
    eventLoopDelayMs: delaysOf(after.metrics ?? round.metrics),
    finalLatencyMs: percentiles(round.finalLatenciesMs),
    missedFinals: round.missedFinals,
    firstAudioMs: percentiles(firstAudioMs),
    speechSecondsPerSecond: speechSeconds / wallSeconds,
    coresByNiceness: Object.fromEntries([...ticks].map(([group, sum]) => [group, sum / 100 / wallSeconds])),
    residentMegabytes: Math.round(service.residentBytes() / 1e6),
  };
}

function repeated({ pcm, utterances }: SpokenStream, times: number): SpokenStream {
  const whole = new Int16Array(pcm.length * times);
  for (let time = 0; time < times; time++) whole.set(pcm, time * pcm.length);
  const shifted = Array.from({ length: times }, (_, time) =>
    utterances.map(({ onsetSample, endSample }) => ({
      onsetSample: onsetSample + time * pcm.length,
      endSample: endSample + time * pcm.length,
    })),
  );
  return { pcm: whole, utterances: shifted.flat() };
}

/** Transcribes a file. The service may end at any point during the load. */
async function transcribe(service: ServiceProcess, wav: Uint8Array, signal: AbortSignal): Promise<void> {
  try {
    const answer = await fetch(`${service.url}/v1/transcribe?timestamps=true`, {
      method: "POST",
      headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/octet-stream" },
      body: new Uint8Array(wav),
      signal,
    });
    if (!answer.ok) throw new Error(`/v1/transcribe answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function delaysOf(metrics: MetricValues) {
  const at = (quantile: string) => metrics.get(`event_loop_delay_ms{quantile="${quantile}"}`) ?? Number.NaN;
  return { p50: at("0.5"), p99: at("0.99"), highest: at("1") };
}

/** Pins all threads of a process. */
function pin(pid: number, cpus: string): void {
  execFileSync("taskset", ["-acp", cpus, String(pid)]);
}

function print(figures: Awaited<ReturnType<typeof measure>>): void {
  const { p50, p99, highest } = figures.eventLoopDelayMs;
  const cores = Object.entries(figures.coresByNiceness).map(
    ([group, share]) => `${group}: ${share.toFixed(2)}`,
  );
  console.log(
    `${figures.name}: main thread late by ${p50.toFixed(1)}/${p99.toFixed(1)}/${highest.toFixed(1)} ms (p50/p99/most), ` +
      `${showPercentiles("finals", figures.finalLatencyMs)}, missed ${figures.missedFinals}, ` +
      `${showPercentiles("first audio", figures.firstAudioMs)}, speech ${figures.speechSecondsPerSecond.toFixed(1)} s/s, ` +
      `cores by niceness ${cores.join(", ")}, ${figures.residentMegabytes} MB`,
  );
}
