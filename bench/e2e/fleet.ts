import { freeLoopbackPort } from "../../src/store/postgres/loopback-port.js";
import { saveResult } from "../save-result.js";
import { type EngineProcess, startEngineProcess } from "../support/engine-process.js";
import { type LiveRound, MESSAGE_SAMPLES, runLiveRound } from "../support/live-round.js";
import { NatsServer, WITHOUT_NATS } from "../support/nats-server.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { creditDevelopment, startServiceProcess } from "../support/service-process.js";
import { SENTENCES, type SpokenStream, speakStream } from "../support/spoken-stream.js";

/** 40 ms of audio: what a client sends at once. */
const FRAMES_PER_SECOND = 25;
const SESSIONS = [8, 32];
const ENGINES = [1, 2];

/** One arrangement of processes with so many sessions. */
interface FleetRound {
  /** Engine processes; 0 is a single process without a bus. */
  readonly engines: number;
  readonly live: LiveRound;
  readonly busCpuSeconds: number;
  readonly engineCpuSeconds: number;
}

/**
 * `npm run bench -- fleet [8 32 ...]`: live sessions of one process beside those of a gateway with 1 and 2 engine processes over
 * a real NATS server, all on this machine and in turns: end of speech to final, and CPU time for each 40 ms of audio in gateway,
 * bus and engines. Two minutes for two numbers of sessions.
 */
export async function run(options: {
  readonly smoke: boolean;
  readonly args: readonly string[];
}): Promise<void> {
  if (WITHOUT_NATS !== false) {
    console.log(`fleet: left out, ${WITHOUT_NATS}`);
    return;
  }
  const given = options.args.map(Number).filter((count) => Number.isInteger(count) && count > 0);
  const counts = options.smoke ? [1] : given.length > 0 ? given : SESSIONS;
  const sentences = options.smoke ? SENTENCES.slice(0, 1) : SENTENCES;
  const rounds: FleetRound[] = [];
  let stream: SpokenStream | null = null;
  for (const engines of options.smoke ? [0, 1] : [0, ...ENGINES]) {
    const measured = await measure({ engines, counts, sentences, stream });
    // All listen to what the first has spoken.
    stream = measured.stream;
    rounds.push(...measured.rounds);
  }
  if (options.smoke) return;
  await saveResult("fleet", {
    parameters: { eouMs: 200, messageSamples: MESSAGE_SAMPLES, sentences },
    rounds: rounds.map((round) => ({
      ...summary(round),
      finalLatenciesMs: rounded(round.live.finalLatenciesMs),
    })),
  });
}

async function measure(parts: {
  readonly engines: number;
  readonly counts: readonly number[];
  readonly sentences: readonly string[];
  readonly stream: SpokenStream | null;
}): Promise<{ readonly stream: SpokenStream; readonly rounds: readonly FleetRound[] }> {
  const { engines, counts, sentences } = parts;
  const operatorPort = await freeLoopbackPort();
  const nats = engines === 0 ? null : await NatsServer.start();
  const nodes: EngineProcess[] = [];
  const ofRole = nats === null ? {} : gatewayOf(nats, engines);
  for (let count = 0; count < engines; count++)
    nodes.push(await startEngineProcess({ SERVE: "live", BUS_URL: nats!.url }));
  const service = await startServiceProcess({
    ...ofRole,
    LIVE_PER_ORG: "1000",
    OPERATOR_PORT: String(operatorPort),
  });
  try {
    await creditDevelopment(service, 1_000_000_000);
    const stream = parts.stream ?? (await speakStream(service, sentences));
    const rounds: FleetRound[] = [];
    for (const sessions of counts) {
      const enginesBefore = cpuSecondsOf(nodes);
      const busBefore = nats?.cpuSeconds() ?? 0;
      const live = await runLiveRound({ service, operatorPort, stream, sessions });
      const busCpuSeconds = (nats?.cpuSeconds() ?? 0) - busBefore;
      const round = { engines, live, busCpuSeconds, engineCpuSeconds: cpuSecondsOf(nodes) - enginesBefore };
      rounds.push(round);
      print(round);
    }
    return { stream, rounds };
  } finally {
    await service.stop();
    for (const node of nodes) await node.stop();
    await nats?.kill();
  }
}

function cpuSecondsOf(nodes: readonly EngineProcess[]): number {
  return nodes.reduce((sum, node) => sum + node.cpuSeconds(), 0);
}

function summary({ engines, live, busCpuSeconds, engineCpuSeconds }: FleetRound) {
  const frames = live.audioSeconds * FRAMES_PER_SECOND;
  const microsPerFrame = (seconds: number) => (1e6 * seconds) / frames;
  return {
    engines,
    sessions: live.sessions,
    finalLatencyMs: percentiles(live.finalLatenciesMs),
    missedFinals: live.missedFinals,
    /** CPU time for each 40 ms of audio; without engines the process does what all three do. */
    cpuMicrosPerFrame: {
      front: microsPerFrame(live.cpuSeconds),
      bus: microsPerFrame(busCpuSeconds),
      engines: microsPerFrame(engineCpuSeconds),
    },
  };
}

function print(round: FleetRound): void {
  const { engines, sessions, finalLatencyMs, missedFinals, cpuMicrosPerFrame } = summary(round);
  const cpu = Object.entries(cpuMicrosPerFrame).map(([part, micros]) => `${part} ${Math.round(micros)}`);
  const where = engines === 0 ? "one process" : `a gateway and ${engines} engine processes`;
  console.log(
    `${where}, ${sessions} sessions: ${showPercentiles("finals", finalLatencyMs)} (p50/p95/p99), ` +
      `${missedFinals} missed; CPU microseconds a frame: ${cpu.join(", ")}`,
  );
}

function rounded(values: readonly number[]): readonly number[] {
  return values.map((value) => Math.round(10 * value) / 10);
}

function gatewayOf({ url }: NatsServer, engines: number): Readonly<Record<string, string>> {
  const pepper = "pepper of a fleet that is measured";
  return { ROLE: "gateway", KEY_PEPPER: pepper, BUS_URL: url, LIVE_LANES: String(engines) };
}
