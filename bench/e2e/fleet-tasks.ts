import { writeWav } from "../../core/domain/audio/wav.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { type EngineProcess, startEngineProcess } from "../support/engine-process.js";
import { NatsServer, WITHOUT_NATS } from "../support/nats-server.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { streamSentences } from "../support/speech-client.js";
import { SAMPLE_RATE_HZ, SENTENCES, speakStream } from "../support/spoken-stream.js";

const KEY_PEPPER = "pepper of a fleet that is measured";
const PARTS = "synthesis,transcription";
const NFE = 16;
const ROUNDS = 30;
const FILE_ROUNDS = 6;
const FILE_SECONDS = 300;

/** An arrangement of processes with its measurements. */
interface Arrangement {
  readonly name: string;
  readonly service: ServiceProcess;
  readonly nats: NatsServer | null;
  readonly engine: EngineProcess | null;
  readonly firstAudioMs: number[];
  readonly fileSeconds: number[];
  readonly speech: Cpu;
  readonly files: Cpu;
}

/** CPU seconds by process. */
interface Cpu {
  front: number;
  bus: number;
  engine: number;
}

/**
 * `npm run bench -- fleet-tasks [ROUNDS]`: speech and files of one process compared with those of a gateway
 * with one engine process over a real NATS server, alternating request by request: time to first audio, time
 * for a file of five minutes, and CPU time in gateway, bus and engine. Three minutes for 30 rounds.
 */
export async function run(options: BenchOptions): Promise<void> {
  if (WITHOUT_NATS !== false) {
    console.log(`fleet-tasks: skipped, ${WITHOUT_NATS}`);
    return;
  }
  const rounds = options.smoke ? 1 : Number(options.args[0] ?? ROUNDS);
  const nats = await NatsServer.start();
  const own = { SERVE: PARTS, SYNTHESIS_WORKERS: "1", FILE_WORKERS: "1" };
  const engine = await startEngineProcess({ ...own, BUS_URL: nats.url });
  const gateway = await startServiceProcess({
    ...{ SERVE: PARTS, ROLE: "gateway", BUS_URL: nats.url, KEY_PEPPER },
  });
  const alone = await startServiceProcess({ ...own, KEY_PEPPER });
  const arrangements = [
    arrangement("one process", alone, null, null),
    arrangement("a gateway and an engine", gateway, nats, engine),
  ];
  try {
    for (const { service } of arrangements) await creditDevelopment(service, 1_000_000_000, { KEY_PEPPER });
    const spoken = await speakStream(alone, SENTENCES.slice(0, options.smoke ? 1 : 3));
    for (let round = -1; round < rounds; round++) await speakInTurns(arrangements, round);
    const fileRounds = options.smoke ? 1 : FILE_ROUNDS;
    const wav = fileOf(spoken.pcm, options.smoke ? 10 : FILE_SECONDS);
    for (let round = -1; round < fileRounds; round++) await hearInTurns(arrangements, wav, round);
  } finally {
    await Promise.all([alone.stop(), gateway.stop(), engine.stop()]);
    await nats.kill();
  }
  const summaries = arrangements.map((each) => summary(each, rounds));
  for (const each of summaries) print(each);
  if (options.smoke) return;
  await saveResult("fleet-tasks", {
    parameters: { nfe: NFE, rounds, fileRounds: FILE_ROUNDS, fileSeconds: FILE_SECONDS },
    arrangements: summaries,
  });
}

function arrangement(
  name: string,
  service: ServiceProcess,
  nats: NatsServer | null,
  engine: EngineProcess | null,
): Arrangement {
  const none = () => ({ front: 0, bus: 0, engine: 0 });
  return { name, service, nats, engine, firstAudioMs: [], fileSeconds: [], speech: none(), files: none() };
}

/** Sends one request to each; round -1 warms up. */
async function speakInTurns(arrangements: readonly Arrangement[], round: number): Promise<void> {
  const text = SENTENCES[(round + 1) % SENTENCES.length]!;
  for (const each of inTurn(arrangements, round)) {
    const run = () => streamSentences(each.service, { text, nfe: NFE }, { frames: "chunks" });
    const { firstAudioMs } = await charge(each, round < 0 ? null : each.speech, run);
    if (round >= 0) each.firstAudioMs.push(firstAudioMs);
  }
}

async function hearInTurns(
  arrangements: readonly Arrangement[],
  wav: Uint8Array,
  round: number,
): Promise<void> {
  for (const each of inTurn(arrangements, round)) {
    const startedAtMs = performance.now();
    await charge(each, round < 0 ? null : each.files, () => transcribe(each.service, wav));
    if (round >= 0) each.fileSeconds.push((performance.now() - startedAtMs) / 1_000);
  }
}

/** Returns the order, which alternates from round to round. */
function inTurn(arrangements: readonly Arrangement[], round: number): readonly Arrangement[] {
  return round % 2 === 0 ? arrangements : arrangements.toReversed();
}

/** Adds the CPU time of `work` in each process. */
async function charge<T>(
  { service, nats, engine }: Arrangement,
  to: Cpu | null,
  work: () => Promise<T>,
): Promise<T> {
  const read = () => ({
    front: service.cpuSeconds(),
    bus: nats?.cpuSeconds() ?? 0,
    engine: engine?.cpuSeconds() ?? 0,
  });
  const before = read();
  const result = await work();
  const after = read();
  if (to !== null)
    for (const part of ["front", "bus", "engine"] as const) to[part] += after[part] - before[part];
  return result;
}

async function transcribe({ url, key }: ServiceProcess, wav: Uint8Array): Promise<void> {
  const answer = await fetch(`${url}/v1/transcribe`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/octet-stream" },
    body: new Uint8Array(wav),
  });
  if (!answer.ok) throw new Error(`Cannot transcribe: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

function fileOf(pcm: Int16Array, seconds: number): Uint8Array {
  const samples = new Int16Array(seconds * SAMPLE_RATE_HZ);
  for (let at = 0; at < samples.length; at += pcm.length)
    samples.set(pcm.subarray(0, Math.min(pcm.length, samples.length - at)), at);
  return writeWav(samples, SAMPLE_RATE_HZ);
}

function summary(each: Arrangement, rounds: number) {
  const perUnit = ({ front, bus, engine }: Cpu, units: number) => ({
    front: front / units,
    bus: bus / units,
    engine: engine / units,
  });
  return {
    name: each.name,
    firstAudioMs: percentiles(each.firstAudioMs, 1),
    speechCpuSeconds: perUnit(each.speech, rounds),
    fileSeconds: percentiles(each.fileSeconds, 2),
    fileCpuSeconds: perUnit(each.files, each.fileSeconds.length),
  };
}

function print({
  name,
  firstAudioMs,
  speechCpuSeconds,
  fileSeconds,
  fileCpuSeconds,
}: ReturnType<typeof summary>) {
  const cpu = (of: Cpu) =>
    Object.entries(of)
      .map(([part, seconds]) => `${part} ${seconds.toFixed(3)}`)
      .join(", ");
  console.log(
    `${name}: ${showPercentiles("first audio", firstAudioMs)}, CPU seconds an answer: ${cpu(speechCpuSeconds)}; ` +
      `${showPercentiles("a file", fileSeconds, "s")}, CPU seconds: ${cpu(fileCpuSeconds)}`,
  );
}
