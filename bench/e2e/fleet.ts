import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { type EngineProcess, startEngineProcess } from "../support/engine-process.js";
import { freePort } from "../support/free-port.js";
import { type LiveRound, MESSAGE_SAMPLES, runLiveRound } from "../support/live-round.js";
import { NatsServer, WITHOUT_NATS } from "../support/nats-server.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SENTENCES, type SpokenStream, speakStream } from "../support/spoken-stream.js";

/** Messages per second of a client that sends 40 ms of audio in each, as usual. */
const FRAMES_PER_SECOND = 25;
const SESSIONS = [8, 32];
const ENGINES = [1, 2, 4];
const PASSES = 4;
/** Pause of one of two engines while sessions speak: when it starts, and how long it lasts. */
const FREEZE = { sessions: 16, afterMs: 6_000, forMs: 8_000 };

/** Processes that serve live sessions together; all run from the start and are measured alternately. */
interface Arrangement {
  /** Number of engine processes; 0 is a single process without a bus. */
  readonly engines: number;
  readonly service: ServiceProcess;
  readonly operatorPort: number;
  readonly nats: NatsServer | null;
  readonly nodes: readonly EngineProcess[];
}

/** A round of one arrangement with this many sessions. */
interface FleetRound {
  readonly engines: number;
  readonly live: LiveRound;
  readonly busCpuSeconds: number;
  readonly engineCpuSeconds: number;
}

/**
 * `npm run bench -- fleet [8 32 ...]`: live sessions of one process compared with those of a gateway with 1,
 * 2 and 4 engine processes over a real NATS server, all on this machine and alternating: end of speech to
 * final, the bus's share of it, CPU time per 40 ms of audio in gateway, bus and engines, and the effect of a
 * paused engine on sessions of another. 15 minutes for two numbers of sessions.
 */
export async function run(options: BenchOptions): Promise<void> {
  if (WITHOUT_NATS !== false) {
    console.log(`fleet: skipped, ${WITHOUT_NATS}`);
    return;
  }
  const given = options.args.map(Number).filter((count) => Number.isInteger(count) && count > 0);
  const counts = options.smoke ? [1] : given.length > 0 ? given : SESSIONS;
  const sentences = options.smoke ? SENTENCES.slice(0, 1) : SENTENCES;
  const arrangements: Arrangement[] = [];
  try {
    for (const engines of options.smoke ? [0, 1] : [0, ...ENGINES]) arrangements.push(await arrange(engines));
    const stream = await speakStream(arrangements[0]!.service, sentences);
    const rounds: FleetRound[] = [];
    for (let pass = 0; pass < (options.smoke ? 1 : PASSES); pass++)
      for (const sessions of counts)
        for (const arrangement of arrangements) rounds.push(await measure(arrangement, stream, sessions));
    if (options.smoke) return;
    const two = arrangements.find(({ engines }) => engines === 2)!;
    const summaries = counts.flatMap((sessions) => summarized(rounds, sessions));
    await saveResult("fleet", {
      parameters: { eouMs: 200, messageSamples: MESSAGE_SAMPLES, sentences, passes: PASSES },
      rounds: summaries,
      frozen: await freezeOne(two, stream),
    });
  } finally {
    for (const arrangement of arrangements) await end(arrangement);
  }
}

async function arrange(engines: number): Promise<Arrangement> {
  const operatorPort = await freePort();
  const nats = engines === 0 ? null : await NatsServer.start();
  const nodes: EngineProcess[] = [];
  for (let count = 0; count < engines; count++)
    nodes.push(await startEngineProcess({ SERVE: "live", BUS_URL: nats!.url }));
  const ofRole = nats === null ? {} : gatewayOf(nats, engines);
  const service = await startServiceProcess({
    ...ofRole,
    LIVE_PER_ORG: "1000",
    OPERATOR_PORT: String(operatorPort),
  });
  await creditDevelopment(service, 1_000_000_000, ofRole);
  return { engines, service, operatorPort, nats, nodes };
}

async function end({ service, nodes, nats }: Arrangement): Promise<void> {
  await service.stop();
  for (const node of nodes) await node.stop();
  await nats?.kill();
}

async function measure(
  { engines, service, operatorPort, nats, nodes }: Arrangement,
  stream: SpokenStream,
  sessions: number,
): Promise<FleetRound> {
  const enginesBefore = cpuSecondsOf(nodes);
  const busBefore = nats?.cpuSeconds() ?? 0;
  const live = await runLiveRound({ service, operatorPort, stream, sessions });
  const busCpuSeconds = (nats?.cpuSeconds() ?? 0) - busBefore;
  const round = { engines, live, busCpuSeconds, engineCpuSeconds: cpuSecondsOf(nodes) - enginesBefore };
  const finals = showPercentiles("finals", percentiles(live.finalLatenciesMs));
  console.log(`${nameOf(engines)}, ${sessions} sessions: ${finals} (p50/p95/p99)`);
  return round;
}

/**
 * Summarizes every arrangement with this number of sessions: passes combined, compared with the single
 * process.
 */
function summarized(rounds: readonly FleetRound[], sessions: number) {
  const ofCount = rounds.filter(({ live }) => live.sessions === sessions);
  const alone = percentiles(finalsOf(ofCount.filter(({ engines }) => engines === 0)), 1)!;
  const arrangements = [...new Set(ofCount.map(({ engines }) => engines))];
  return arrangements.map((engines) => {
    const passes = ofCount.filter((round) => round.engines === engines);
    const sum = (of: (round: FleetRound) => number) => passes.reduce((total, round) => total + of(round), 0);
    const frames = sum(({ live }) => live.audioSeconds) * FRAMES_PER_SECOND;
    const micros = (of: (round: FleetRound) => number) => (1e6 * sum(of)) / frames;
    const finalLatencyMs = percentiles(finalsOf(passes), 1)!;
    const summary = {
      engines,
      sessions,
      finalLatencyMs,
      /** Time added to that of the single process. */
      addedMs: { p50: finalLatencyMs.p50 - alone.p50, p95: finalLatencyMs.p95 - alone.p95 },
      missedFinals: sum(({ live }) => live.missedFinals),
      /** Number of moves and replays of lanes since the gateway's start. */
      laneMoves: passes.at(-1)!.live.metrics.get("lane_moves_total") ?? 0,
      laneReplays: passes.at(-1)!.live.metrics.get("lane_replays_total") ?? 0,
      /** CPU time for each 40 ms of audio; without engines, one process does the work of all three. */
      cpuMicrosPerFrame: {
        front: micros(({ live }) => live.cpuSeconds),
        bus: micros(({ busCpuSeconds }) => busCpuSeconds),
        engines: micros(({ engineCpuSeconds }) => engineCpuSeconds),
      },
      finalLatenciesMs: finalsOf(passes).map((value) => Math.round(10 * value) / 10),
    };
    print(summary);
    return summary;
  });
}

function print(summary: ReturnType<typeof summarized>[number]): void {
  const { engines, sessions, finalLatencyMs, addedMs, missedFinals, cpuMicrosPerFrame } = summary;
  const { laneMoves, laneReplays } = summary;
  const cpu = Object.entries(cpuMicrosPerFrame).map(([part, micros]) => `${part} ${Math.round(micros)}`);
  const added = `${addedMs.p50.toFixed(1)} ms more at p50, ${addedMs.p95.toFixed(1)} at p95`;
  console.log(
    `${nameOf(engines)}, ${sessions} sessions: ${showPercentiles("finals", finalLatencyMs)}, ${added}, ` +
      `${missedFinals} missed, lanes moved ${laneMoves} times and replayed ${laneReplays}; CPU microseconds a frame: ${cpu.join(", ")}`,
  );
}

/**
 * Measures two engines with equal numbers of sessions, undisturbed, and with one paused for some time. The
 * half of the sessions with the latest finals is assumed to be the paused engine's.
 */
async function freezeOne(arrangement: Arrangement, stream: SpokenStream) {
  const { service, operatorPort, nodes } = arrangement;
  const { sessions, afterMs, forMs } = FREEZE;
  const frozen = nodes[0]!.child;
  const latest = (live: LiveRound) =>
    live.finalLatenciesBySession
      .map((latencies) => ({ latestMs: Math.max(...latencies), latencies }))
      .toSorted((a, b) => a.latestMs - b.latestMs);
  const undisturbed = latest(await runLiveRound({ service, operatorPort, stream, sessions }));
  const timers = [
    setTimeout(() => frozen.kill("SIGSTOP"), afterMs),
    setTimeout(() => frozen.kill("SIGCONT"), afterMs + forMs),
  ];
  const live = await runLiveRound({ service, operatorPort, stream, sessions });
  for (const timer of timers) clearTimeout(timer);
  const disturbed = latest(live);
  const half = sessions / 2;
  const of = (kept: typeof disturbed) =>
    percentiles(
      kept.flatMap(({ latencies }) => latencies),
      1,
    );
  const result = {
    ...FREEZE,
    undisturbedMs: of(undisturbed.slice(0, half)),
    othersMs: of(disturbed.slice(0, half)),
    onFrozenMs: of(disturbed.slice(half)),
    latestMs: Math.round(disturbed.at(-1)!.latestMs),
    missedFinals: live.missedFinals,
  };
  console.log(
    `one of two engines paused for ${forMs / 1_000} s, ${sessions} sessions: ` +
      `${showPercentiles("others", result.othersMs)}, undisturbed ${showPercentiles("", result.undisturbedMs)}; ` +
      `latest final of its sessions after ${result.latestMs} ms, ${result.missedFinals} missed`,
  );
  return result;
}

function finalsOf(rounds: readonly FleetRound[]): readonly number[] {
  return rounds.flatMap(({ live }) => live.finalLatenciesMs);
}

function cpuSecondsOf(nodes: readonly EngineProcess[]): number {
  return nodes.reduce((sum, node) => sum + node.cpuSeconds(), 0);
}

function nameOf(engines: number): string {
  return engines === 0 ? "one process" : `a gateway and ${engines} engine processes`;
}

function gatewayOf({ url }: NatsServer, engines: number): Readonly<Record<string, string>> {
  const pepper = "pepper of a fleet that is measured";
  return { ROLE: "gateway", KEY_PEPPER: pepper, BUS_URL: url, LIVE_LANES: String(engines) };
}
