import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { MetricName } from "../../src/cli/bench/result.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { benched, writeClip } from "../support/bench-command.js";
import { freePort } from "../support/free-port.js";
import { MESSAGE_SAMPLES, runLiveRound } from "../support/live-round.js";
import { percentiles } from "../support/percentiles.js";
import { creditDevelopment, startServiceProcess } from "../support/service-process.js";
import { GAP_SAMPLES, joinedStream, SENTENCES, type SpokenStream, speak } from "../support/spoken-stream.js";

const STUB = fileURLToPath(new URL("../support/stub-wire-process.js", import.meta.url));
const KEY = "sk-svc-of-a-stub";
const RATE_HZ = 16_000;
const STUB_TEXT = "бір екі үш";
const STUB_DELAYS = { finalMs: 150, partialMs: 80 };
/** Numbers of sessions and minutes; handshakes are a small part of the CPU time of the longer round. */
const STUB_ROUNDS = [
  { sessions: 20, minutes: 0.3 },
  { sessions: 100, minutes: 1 },
  { sessions: 1_000, minutes: 0.3 },
  { sessions: 2_000, minutes: 0.3 },
];
const SMOKE_ROUNDS = [{ sessions: 2, minutes: 0.001 }];
/**
 * From 16 sessions on, a worker's rounds are 20 instead of 10 ms apart (native/live/worker.ts). Each bench
 * alone must exceed that: while only one of them speaks, partials would otherwise come earlier. A partial
 * waits up to 20 ms for its round, so the median of a session varies by 10 %: hence many sessions and rounds.
 */
const BESIDE_SESSIONS = 40;
/** Enough for the four sentences, which take 21 s. */
const BESIDE_MINUTES = 0.3;
/** Even: a service answers its older sessions up to 3 % later, so each bench is first in half of the rounds. */
const BESIDE_ROUNDS = 12;
/** By then all sessions of `dauys bench` have started. */
const SECOND_AFTER_MS = 12_000;
const BESIDE_METRICS: readonly MetricName[] = ["final", "first_partial", "partial_lag"];
const DIGITS = 3;

/**
 * `npm run bench -- dauys-bench [stub|beside]`: `dauys bench` compared with known delays of a stub, its CPU
 * time with up to 2,000 sessions, and its results for our service compared with those of `live`, both at the
 * same time.
 */
export async function run({ smoke, args }: BenchOptions): Promise<void> {
  const stub = args.includes("beside") ? null : await stubRounds(smoke ? SMOKE_ROUNDS : STUB_ROUNDS);
  const beside = args.includes("stub") ? null : await besideRounds(smoke);
  if (!smoke)
    await saveResult("dauys-bench", {
      parameters: { ...STUB_DELAYS, besideSessions: BESIDE_SESSIONS },
      stub,
      beside,
    });
}

/** Compares measured delays with known ones, and measures the CPU time of the bench. */
async function stubRounds(plan: typeof STUB_ROUNDS) {
  const folder = await mkdtemp(join(tmpdir(), "dauys-bench-"));
  const { finalMs, partialMs } = STUB_DELAYS;
  try {
    // Digital silence around a tone: the stub detects its ends exactly.
    const tone = Int16Array.from(
      { length: RATE_HZ },
      (_, n) => 8_000 * Math.sin((2 * Math.PI * 440 * (n + 0.5)) / RATE_HZ),
    );
    await writeClip(folder, "tone", tone, STUB_TEXT);
    const rounds = [];
    for (const { sessions, minutes } of plan) {
      const child = spawn(process.execPath, [STUB, String(finalMs), String(partialMs), STUB_TEXT], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      const [line] = (await once(child.stdout, "data")) as [Buffer];
      const url = String(line).trim();
      const load = ["--sessions", String(sessions), "--minutes", String(minutes)];
      const result = await benched(url, KEY, [...load, "--clips", folder]);
      child.stdin.end();
      const [level] = result.levels;
      const { failed, missed, sentences, own_cpu_percent, own_lateness } = level!;
      const final = level!.metrics.final!;
      const figure = {
        ...{ sessions, failed, missed, sentences, cpuPercent: own_cpu_percent, lateness: own_lateness },
        cpuPercentPer100: (100 * own_cpu_percent) / sessions,
        finalErrorMs: { p50: final.p50.value - finalMs, p95: final.p95.value - finalMs },
        // Load of all programs on the machine at the end of the round.
        loadAverage: loadavg()[0]!,
        partialErrorMs: level!.metrics.first_partial!.p50.value - partialMs,
      };
      console.log(JSON.stringify(figure));
      rounds.push(figure);
    }
    const [, few, many] = rounds;
    if (few === undefined || many === undefined) return { rounds };
    const share = (100 * (many.cpuPercent - few.cpuPercent)) / (many.sessions - few.sessions);
    console.log(`each further 100 sessions: ${share.toFixed(2)} % of a core`);
    return { rounds, cpuPercentOfFurther100: share };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs both benches at the same time on one service, with the same sentences. */
async function besideRounds(smoke: boolean) {
  const folder = await mkdtemp(join(tmpdir(), "dauys-bench-"));
  const operatorPort = await freePort();
  const service = await startServiceProcess({
    ...{ LIVE_PER_ORG: "1000", OPERATOR_PORT: String(operatorPort), MODEL_PRELOAD: "true" },
  });
  try {
    await creditDevelopment(service, 1_000_000_000);
    const sentences = smoke ? SENTENCES.slice(3) : SENTENCES;
    const recordings: Int16Array[] = [];
    for (const [nth, text] of sentences.entries()) {
      recordings.push(wholeMessages(await speak(service, { text })));
      await writeClip(folder, String(nth), recordings[nth]!, text);
    }
    const stream = delayed(joinedStream(recordings, GAP_SAMPLES));
    const sessions = smoke ? 1 : BESIDE_SESSIONS;
    const rounds: { readonly live: readonly number[]; readonly bench: readonly number[] }[] = [];
    for (let round = 0; round < (smoke ? 1 : BESIDE_ROUNDS); round++) {
      const [live, { levels }] = await Promise.all([
        setTimeout(round % 2 === 0 ? 0 : SECOND_AFTER_MS).then(() =>
          runLiveRound({ service, operatorPort, stream, sessions }),
        ),
        benched(service.url, service.key, [
          ...["--sessions", String(sessions), "--minutes", smoke ? "0.01" : String(BESIDE_MINUTES)],
          ...["--clips", folder],
        ]),
      ]);
      const own = [live.finalLatenciesMs, live.firstPartialsMs, live.partialLagsMs];
      rounds.push({
        live: own.map((values) => percentiles(values, DIGITS)!.p50),
        bench: BESIDE_METRICS.map((metric) => levels[0]!.metrics[metric]!.p50.value),
      });
    }
    const figures = BESIDE_METRICS.map((metric, nth) => {
      const live = mean(rounds.map((round) => round.live[nth]!));
      const bench = mean(rounds.map((round) => round.bench[nth]!));
      const ratios = rounds.map((round) => round.bench[nth]! / round.live[nth]!);
      const ratio = bench / live;
      const variance = mean(ratios.map((each) => (each - mean(ratios)) ** 2));
      return { metric, live, bench, ratio, standardError: Math.sqrt(variance / (rounds.length - 1)) };
    });
    for (const figure of figures) console.log(JSON.stringify(figure));
    return { figures, rounds };
  } finally {
    await service.stop();
    await rm(folder, { recursive: true });
  }
}

/** Pads a recording to whole messages, as `dauys bench` does: finals depend on where a model frame starts. */
function wholeMessages(pcm: Int16Array): Int16Array {
  const padded = new Int16Array(Math.ceil(pcm.length / MESSAGE_SAMPLES) * MESSAGE_SAMPLES);
  padded.set(pcm);
  return padded;
}

/**
 * Prepends half a message of silence, so that sentences start at the same point of a message as in `dauys
 * bench`.
 */
function delayed({ pcm, utterances }: SpokenStream): SpokenStream {
  const shift = MESSAGE_SAMPLES / 2;
  const whole = new Int16Array(shift + pcm.length);
  whole.set(pcm, shift);
  return {
    pcm: whole,
    utterances: utterances.map(({ onsetSample, endSample }) => ({
      ...{ onsetSample: onsetSample + shift, endSample: endSample + shift },
    })),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
