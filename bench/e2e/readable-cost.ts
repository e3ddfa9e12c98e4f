import { writeWav } from "../../core/domain/audio/wav.js";
import type { TimedWord } from "../../core/domain/decoding/words.js";
import { pausesAfter } from "../../core/domain/text/display/pauses.js";
import type { ReadingTask } from "../../core/domain/text/display/reading.js";
import { ReadingThread } from "../../native/reading/reading-thread.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { freePort } from "../support/free-port.js";
import { type LiveRound, runLiveRound } from "../support/live-round.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SAMPLE_RATE_HZ, SENTENCES, type SpokenStream, speakStream } from "../support/spoken-stream.js";
import { median } from "../support/synthesis-floor.js";

const SESSIONS = 32;
const ROUNDS = 5;
/** Files differ by up to 15 % on a quiet machine; the median of 24 is known to about 1 %. */
const FILE_ROUNDS = 24;
const FILE_SECONDS = 600;
const READINGS = 40;
const WAYS = { plain: "?display=false", readable: "?display=true" } as const;
type Way = keyof typeof WAYS;

/**
 * `npm run bench -- readable-cost`: finals and files with and without `display=true`, alternating in one
 * service. Takes six minutes.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const operatorPort = await freePort();
  const service = await startServiceProcess({ LIVE_PER_ORG: "1000", OPERATOR_PORT: String(operatorPort) });
  await creditDevelopment(service, 1_000_000_000);
  try {
    const stream = await speakStream(service, smoke ? SENTENCES.slice(0, 1) : SENTENCES);
    const rounds = smoke ? 1 : ROUNDS;
    const live = await liveRounds({ service, operatorPort, stream, sessions: smoke ? 1 : SESSIONS }, rounds);
    const files = await fileRounds(
      service,
      recordingOf(stream, smoke ? 5 : FILE_SECONDS),
      smoke ? 1 : FILE_ROUNDS,
    );
    const latencies = (way: Way) => percentiles(live[way].flatMap((round) => round.finalLatenciesMs))!;
    const result = {
      parameters: { sessions: SESSIONS, rounds, fileSeconds: FILE_SECONDS, fileRounds: FILE_ROUNDS },
      finalLatencyMs: { plain: latencies("plain"), readable: latencies("readable") },
      finalsLaterMs: {
        p50: latencies("readable").p50 - latencies("plain").p50,
        p95: latencies("readable").p95 - latencies("plain").p95,
      },
      liveCpuRatio: median(live.readable.map(cpuShare)) / median(live.plain.map(cpuShare)),
      fileSeconds: files,
      fileRatio: median(files.readable) / median(files.plain),
      /** Time of the work that follows a file's last piece, alone, as a share of the file's. */
      readingMs: files.readingMs,
      readingShare: files.readingMs / 1_000 / median(files.plain),
    };
    for (const way of Object.keys(WAYS) as Way[])
      console.log(`${way}: ${showPercentiles("end of speech to final", latencies(way))}`);
    console.log(
      `CPU of live sessions ${result.liveCpuRatio.toFixed(3)}, time of a file ${result.fileRatio.toFixed(3)}; ` +
        `reading it takes ${result.readingMs.toFixed(0)} ms, a share of ${result.readingShare.toFixed(3)}`,
    );
    if (!smoke) console.log(await saveResult("readable-cost", result));
  } finally {
    await service.stop();
  }
}

async function liveRounds(
  parts: Omit<Parameters<typeof runLiveRound>[0], "query">,
  rounds: number,
): Promise<Readonly<Record<Way, LiveRound[]>>> {
  const found: Record<Way, LiveRound[]> = { plain: [], readable: [] };
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const way of inTurn(round)) {
      const figures = await runLiveRound({ ...parts, query: WAYS[way] });
      if (round > 0) found[way].push(figures);
    }
  }
  return found;
}

async function fileRounds(
  { url, key }: ServiceProcess,
  wav: Uint8Array,
  rounds: number,
): Promise<Readonly<Record<Way, number[]>> & { readonly readingMs: number }> {
  const found: Record<Way, number[]> = { plain: [], readable: [] };
  let words: readonly TimedWord[] = [];
  for (let round = 0; round <= rounds; round++) {
    for (const way of inTurn(round)) {
      const answer = await fetch(`${url}/v1/transcribe${WAYS[way]}&timestamps=true`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
        body: wav as Uint8Array<ArrayBuffer>,
      });
      if (!answer.ok) throw new Error(`/v1/transcribe answered ${answer.status}: ${await answer.text()}`);
      const body = (await answer.json()) as { processing_seconds: number; words: readonly TimedWord[] };
      words = body.words;
      if (round > 0) found[way].push(body.processing_seconds);
    }
  }
  return { ...found, readingMs: await readingMs(words, rounds === 1 ? 1 : READINGS) };
}

/** Measures the reading of a transcript on its thread, as the service does it. */
async function readingMs(timed: readonly TimedWord[], times: number): Promise<number> {
  const reader = new ReadingThread({
    onFailure: (error) => {
      throw error;
    },
  });
  const task: ReadingTask = {
    ...({ display: true, numerals: "auto", redact: [], context: 0, previous: "none", isOver: true } as const),
    words: timed.map(({ word }) => word),
    pauses: pausesAfter(timed),
  };
  const tookMs: number[] = [];
  for (let time = 0; time <= times; time++) {
    const startedAtMs = performance.now();
    await reader.read(task);
    // The first reading starts the thread and loads the network.
    if (time > 0) tookMs.push(performance.now() - startedAtMs);
  }
  await reader.stop();
  return median(tookMs);
}

function inTurn(round: number): readonly Way[] {
  return round % 2 === 0 ? ["plain", "readable"] : ["readable", "plain"];
}

function recordingOf({ pcm }: SpokenStream, seconds: number): Uint8Array {
  const samples = new Int16Array(seconds * SAMPLE_RATE_HZ);
  for (let at = 0; at < samples.length; at += pcm.length)
    samples.set(pcm.subarray(0, samples.length - at), at);
  return writeWav(samples, SAMPLE_RATE_HZ);
}

function cpuShare({ cpuSeconds, audioSeconds }: LiveRound): number {
  return cpuSeconds / audioSeconds;
}
