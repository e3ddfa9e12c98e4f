import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { writeWav } from "../../core/domain/audio/wav.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { loadOverHttp } from "../support/http-load.js";
import { runLive } from "../support/live-client.js";
import { timesOf } from "../support/live-round.js";
import { percentiles } from "../support/percentiles.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { streamSentences } from "../support/speech-client.js";
import { SAMPLE_RATE_HZ, SENTENCES, type SpokenStream, speakStream } from "../support/spoken-stream.js";

const FRONTS = ["uws", "node"] as const;
const CREDITS = 1_000_000_000;
/** Mirrored order within a round, so that a machine that becomes faster or slower favours neither. */
const TURNS = ["base", "own", "own", "base"] as const;
const ROUNDS = 3;
/** Short requests vary most, and cost little time. */
const FRONT_ROUNDS = 6;
const LOAD_MS = 1_500;
const CONNECTIONS = 16;
const LIVE_SESSIONS = 64;
const MESSAGE_SAMPLES = 640;
/** Repetitions of the same sentences, for a file of several minutes. */
const FILE_REPEATS = 10;

type Side = (typeof TURNS)[number];

/** A workload for a service, with its figures by name; lower is better. */
interface Workload {
  readonly name: string;
  readonly run: (service: ServiceProcess) => Promise<Readonly<Record<string, number>>>;
  /** Number of rounds; the command's by default. */
  readonly rounds?: number;
  readonly front: (typeof FRONTS)[number];
}

interface Sample {
  readonly workload: string;
  readonly figure: string;
  readonly side: Side;
  readonly value: number;
}

/**
 * `npm run bench -- beside FOLDER [ROUNDS]`: this checkout compared with another one (built, its packages
 * installed): both services on this machine get the same work, alternating. Reports ratios of this checkout
 * to the base, with their range.
 */
export async function run({ smoke, args }: BenchOptions): Promise<void> {
  const [folder = ".", given] = args;
  const base = resolve(folder);
  const main = join(base, "dist/src/main.js");
  if (!existsSync(main)) throw new Error(`${main} is not there: build that checkout first`);
  const rounds = smoke ? 1 : Number(given ?? ROUNDS);
  const services = new Map<string, ServiceProcess>();
  try {
    for (const front of FRONTS) {
      for (const side of ["base", "own"] as const) {
        const environment = { FRONT: front, LIVE_PER_ORG: "1000" };
        const service = await startServiceProcess(environment, side === "base" ? { main } : {});
        services.set(`${side} ${front}`, service);
        await creditDevelopment(service, CREDITS);
      }
    }
    const samples: Sample[] = [];
    for (const workload of await workloads(services.get("own uws")!, smoke)) {
      // Warms up, because the first run of code is not part of the comparison.
      for (const side of ["base", "own"]) await workload.run(services.get(`${side} ${workload.front}`)!);
      for (let round = 0; round < (smoke ? 1 : (workload.rounds ?? rounds)); round++) {
        for (const side of TURNS) {
          const figures = await workload.run(services.get(`${side} ${workload.front}`)!);
          for (const [figure, value] of Object.entries(figures))
            samples.push({ workload: workload.name, figure, side, value });
        }
      }
      for (const line of shown(samples, workload.name)) console.log(line);
    }
    const parameters = {
      base: commitOf(base),
      rounds,
      turns: TURNS,
      loadMs: LOAD_MS,
      liveSessions: LIVE_SESSIONS,
    };
    if (!smoke) console.log(await saveResult("beside", { parameters, ratios: ratiosOf(samples), samples }));
  } finally {
    for (const service of services.values()) await service.stop();
  }
}

async function workloads(service: ServiceProcess, smoke: boolean): Promise<readonly Workload[]> {
  const sentences = smoke ? SENTENCES.slice(0, 1) : SENTENCES;
  const stream = await speakStream(service, sentences);
  const { pcm } = stream;
  const long = new Int16Array(pcm.length * (smoke ? 1 : FILE_REPEATS));
  for (let at = 0; at < long.length; at += pcm.length) long.set(pcm, at);
  const wav = writeWav(long, SAMPLE_RATE_HZ);
  const loadMs = smoke ? 100 : LOAD_MS;
  return [
    ...FRONTS.flatMap((front) => [
      {
        name: `${front}: catalog`,
        front,
        rounds: FRONT_ROUNDS,
        run: (at: ServiceProcess) => load(at, "GET", "/v1/voices", loadMs),
      },
      {
        name: `${front}: key`,
        front,
        rounds: FRONT_ROUNDS,
        run: (at: ServiceProcess) => load(at, "POST", "/v1/stream/token", loadMs),
      },
    ]),
    { name: "synthesis", front: "uws", run: (at) => speech(at, sentences) },
    { name: "file", front: "uws", run: (at) => file(at, wav) },
    {
      name: `live ${LIVE_SESSIONS}`,
      front: "uws",
      rounds: 4,
      run: (at) => live(at, stream, smoke ? 1 : LIVE_SESSIONS),
    },
  ];
}

async function load(
  service: ServiceProcess,
  method: string,
  path: string,
  durationMs: number,
): Promise<Record<string, number>> {
  const length = method === "POST" ? "Content-Length: 0\r\n" : "";
  const request = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${service.key}\r\n${length}\r\n`;
  const before = service.cpuSeconds();
  const { latenciesMs } = await loadOverHttp({
    port: service.port,
    request,
    connections: CONNECTIONS,
    durationMs,
  });
  return { "CPU µs an answer": (1e6 * (service.cpuSeconds() - before)) / latenciesMs.length };
}

async function speech(service: ServiceProcess, texts: readonly string[]): Promise<Record<string, number>> {
  const before = service.cpuSeconds();
  let audioSeconds = 0;
  let firstAudioMs = 0;
  for (const text of texts) {
    const spoken = await streamSentences(service, { text, nfe: 16 });
    audioSeconds += spoken.audioSeconds;
    firstAudioMs += spoken.firstAudioMs / texts.length;
  }
  return { "first audio ms": firstAudioMs, "CPU s a second": (service.cpuSeconds() - before) / audioSeconds };
}

async function file(service: ServiceProcess, wav: Uint8Array): Promise<Record<string, number>> {
  const before = service.cpuSeconds();
  const startedAtMs = performance.now();
  const answer = await fetch(`${service.url}/v1/transcribe`, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/octet-stream" },
    body: wav,
  });
  if (!answer.ok) throw new Error(`/v1/transcribe answered ${answer.status}: ${await answer.text()}`);
  const { audio_seconds } = (await answer.json()) as { audio_seconds: number };
  return {
    "wall ms a second": (performance.now() - startedAtMs) / audio_seconds,
    "CPU ms a second": (1_000 * (service.cpuSeconds() - before)) / audio_seconds,
  };
}

/** Paced sessions, all started within two seconds; latencies from the bounds of speech in the audio. */
async function live(
  service: ServiceProcess,
  stream: SpokenStream,
  sessions: number,
): Promise<Record<string, number>> {
  const { url, key } = service;
  const { pcm } = stream;
  const before = service.cpuSeconds();
  const runs = await Promise.all(
    Array.from({ length: sessions }, async (_, nth) => {
      await new Promise((done) => setTimeout(done, (2_000 * nth) / sessions));
      return runLive({ url, key, pcm, messageSamples: MESSAGE_SAMPLES, isPaced: true });
    }),
  );
  const cpuSeconds = service.cpuSeconds() - before;
  const times = runs.map((received) => timesOf(received, stream));
  const finals = percentiles(times.flatMap(({ finalLatenciesMs }) => finalLatenciesMs));
  const partials = percentiles(times.flatMap(({ firstPartialsMs }) => firstPartialsMs));
  return {
    "CPU ms an audio second": (1_000 * cpuSeconds * SAMPLE_RATE_HZ) / (sessions * pcm.length),
    "final p50 ms": finals?.p50 ?? Number.NaN,
    "final p99 ms": finals?.p99 ?? Number.NaN,
    "first partial p50 ms": partials?.p50 ?? Number.NaN,
    "first partial p95 ms": partials?.p95 ?? Number.NaN,
  };
}

/** Neighbouring runs are compared: base with own, then own with base. */
function ratiosOf(samples: readonly Sample[]) {
  const names = [...new Set(samples.map(({ workload, figure }) => `${workload}, ${figure}`))];
  return names.map((name) => {
    const own = samples.filter(({ workload, figure }) => `${workload}, ${figure}` === name);
    const ratios: number[] = [];
    for (let at = 0; at + 1 < own.length; at += 2) {
      const pair = own.slice(at, at + 2);
      const taken = (side: Side) => pair.find((sample) => sample.side === side)!.value;
      ratios.push(taken("own") / taken("base"));
    }
    const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
    const values = (side: Side) => own.filter((sample) => sample.side === side).map(({ value }) => value);
    const average = (all: readonly number[]) => all.reduce((sum, value) => sum + value, 0) / all.length;
    return {
      name,
      ratio: mean,
      lowest: Math.min(...ratios),
      highest: Math.max(...ratios),
      base: average(values("base")),
      own: average(values("own")),
    };
  });
}

function shown(samples: readonly Sample[], workload: string): string[] {
  return ratiosOf(samples.filter((sample) => sample.workload === workload)).map(
    ({ name, ratio, lowest, highest, base, own }) =>
      `${name}: ${ratio.toFixed(3)} (${lowest.toFixed(3)} to ${highest.toFixed(3)}), ` +
      `${base.toPrecision(4)} → ${own.toPrecision(4)}`,
  );
}

function commitOf(folder: string): string {
  return execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: folder, encoding: "utf8" }).trim();
}
