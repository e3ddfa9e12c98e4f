import { CallHost, type CallHostOptions } from "../actors/node/call-host.js";
import { workingOnFiles } from "../actors/node/file-host.js";
import { LiveHost } from "../actors/node/live-host.js";
import { speakingWith } from "../actors/node/synthesis-host.js";
import { settlesWithin } from "../core/kernel/readiness.js";
import { Metrics } from "../core/observe/metrics.js";
import { openTraces } from "../core/observe/traces.js";
import type { Bus } from "../core/ports/bus.js";
import { systemClock } from "../core/ports/clock.js";
import type { Tracer } from "../core/ports/span.js";
import { SERVICE_VERSION } from "../core/protocol/service-version.js";
import type { RecognizerManifest, SynthesizerManifest } from "../native/models/manifest.js";
import type { PackageFolder } from "../native/models/package.js";
import { startLiveWorker } from "../native/start-workers.js";
import { peerName } from "./bus/open-bus.js";
import { Owned, THREAD_ENTRIES } from "./service/base.js";
import { readTunings, type ServiceOptions, startOperatorPort } from "./service/compose.js";
import {
  engineOver,
  filePool,
  liveObserver,
  synthesisEngine,
  type WorkerParts,
  workerSettings,
} from "./service/engines.js";
import { connectBus, manifestHash } from "./service/fleet.js";
import { type InstalledModels, readInstalledModels } from "./service/installed-models.js";
import { readMachine } from "./service/machine.js";
import { missingProviders, Placements } from "./service/placements.js";
import type { Program } from "./service/process.js";
import { describePlan, type EngineKind, planModels } from "./service/worker-plan.js";

interface NodeHost {
  readonly kind: EngineKind;
  readonly model: string;
  readonly isReady: boolean;
  readonly lost: Promise<Error>;
  load(): object;
  drain(withinMs: number): Promise<void>;
  stop(): Promise<void>;
}

interface NodeParts extends WorkerParts {
  readonly bus: Bus;
  readonly node: string;
  readonly tracer: Tracer;
}

/** A synthesis worker holds several pieces, and chooses before every run which of them continue. */
const PIECES_PER_WORKER = 32;
/** While a file worker works on one task, it pulls the audio of the other. */
const TASKS_PER_WORKER = 2;

/**
 * Starts `ROLE=engine`: workers of the default models, for the parts in `SERVE`, which gateways reach over
 * the bus. An engine node has no database, keys or public port. If a part fails to start, the parts started
 * earlier are stopped.
 *
 * @throws {ConfigError} if the bus does not accept the connection
 */
export async function startEngineNode({
  config,
  log,
  entries: others = {},
}: ServiceOptions): Promise<Program> {
  const owned = new Owned(log);
  try {
    const metrics = new Metrics({ withProcess: config.operatorPort > 0 });
    const node = peerName();
    const bus = await connectBus({ config, log, metrics }, `engine ${node}`, owned);
    const { tracer, close } = await openTraces({
      endpoint: config.otlpEndpoint,
      version: SERVICE_VERSION,
      instance: node,
      log,
    });
    owned.add("traces", close);
    const installed = await readInstalledModels(config, log);
    const placements = new Placements(config, await missingProviders(config), { metrics, log });
    const workers = await planModels(config, installed, readMachine(), (kind) =>
      placements.deviceCount(kind),
    );
    const entries = { ...THREAD_ENTRIES, ...others };
    const tunings = await readTunings(config, log);
    const parts = { config, log, entries, workers, placements, tunings, metrics, bus, node, tracer };
    const hosts = await startHosts(parts, installed, owned);
    const port = await startOperatorPort(
      parts,
      {
        engines: () => hosts.map((host) => statusOf(host, parts)),
        isReady: () => hosts.every(({ isReady }) => isReady),
      },
      owned,
    );
    let stopping: Promise<void> | null = null;
    const stop = async () => {
      await Promise.all(hosts.map((host) => host.drain(config.drainMs)));
      await owned.stop();
    };
    return {
      port,
      banner: `\nDauys engine node ${node}: ${describePlan(workers.ofDefaults)}\n`,
      lost: Promise.race([...hosts.map(({ lost }) => lost), placements.lost]),
      endWorkers: (withinMs) => settlesWithin(Promise.allSettled(hosts.map((host) => host.stop())), withinMs),
      noteDriverFault: () => {},
      stop: () => {
        stopping ??= stop();
        return stopping;
      },
    };
  } catch (error) {
    await owned.stop();
    throw error;
  }
}

async function startHosts(
  parts: NodeParts,
  { recognizers, synthesizers, diarization }: InstalledModels,
  owned: Owned,
): Promise<readonly NodeHost[]> {
  const starts = {
    live: () => startLive(parts, recognizers[0]!),
    synthesis: () => startSynthesis(parts, synthesizers[0]!),
    transcription: () => startTranscription(parts, recognizers[0]!, diarization),
  };
  const starting = parts.config.serve.map(async (kind) => {
    const { count, reason } = parts.workers.ofDefaults[kind];
    const host = await starts[kind]();
    parts.metrics.engineWorkers.set({ engine: kind, model: host.model, reason }, count);
    owned.add(`${kind} host`, () => host.stop());
    return host;
  });
  // Wait for all of them, so that every started host has an owner even if another one fails.
  await Promise.allSettled(starting);
  return Promise.all(starting);
}

function statusOf(host: NodeHost, { node, placements }: NodeParts): object {
  const { kind: engine, model } = host;
  return { engine, model, node, ...host.load(), ...placements.status(engine, model) };
}

async function startLive(parts: NodeParts, model: PackageFolder<RecognizerManifest>): Promise<NodeHost> {
  const { bus, node, tracer, config, log, metrics, workers } = parts;
  const { manifest } = model;
  const settings = workerSettings(parts, "live", model);
  const { cell, zone, liveSessionsPerWorker: sessionsPerWorker } = config;
  const host = new LiveHost({
    ...{ bus, node, cell, zone, sessionsPerWorker, log, tracer },
    model: manifest.id,
    manifest: manifestHash(manifest),
    workerCount: workers.ofDefaults.live.count,
    startWorker: (cells, onMessage, index) => startLiveWorker(settings, cells, onMessage, index),
    contextSamples: manifest.contextFrames * manifest.frameSamples,
    clock: systemClock,
    onPace: liveObserver(metrics, manifest.id).paced,
  });
  await started(host.start(), () => host.stop());
  return {
    ...{ kind: "live", model: manifest.id, lost: host.lost },
    get isReady() {
      return host.isReady;
    },
    load: () => ({ sessions: host.sessionCount, capacity: host.capacity, lanes: host.laneCount }),
    drain: (withinMs) => host.drain(withinMs),
    stop: () => host.stop(),
  };
}

async function startSynthesis(
  parts: NodeParts,
  model: PackageFolder<SynthesizerManifest>,
): Promise<NodeHost> {
  const engine = synthesisEngine(parts, model);
  await started(engine.start(), () => engine.stop());
  return startCalls(parts, model, {
    kind: "synthesis",
    capacity: parts.workers.ofDefaults.synthesis.count * PIECES_PER_WORKER,
    isGivenUp: () => engine.isGivenUp,
    perform: speakingWith(engine, systemClock),
    stop: () => engine.stop(),
  });
}

async function startTranscription(
  parts: NodeParts,
  model: PackageFolder<RecognizerManifest>,
  diarization: InstalledModels["diarization"],
): Promise<NodeHost> {
  const pool = filePool(parts, model, diarization);
  const engine = engineOver(pool, model.manifest, parts.log);
  // Warm up every worker before the first task.
  await started(engine.start(), () => engine.stop());
  return startCalls(parts, model, {
    kind: "transcription",
    capacity: parts.workers.ofDefaults.transcription.count * TASKS_PER_WORKER,
    runFrames: () => pool.runFrames ?? 0,
    perform: workingOnFiles(pool, model.manifest, diarization?.manifest),
    ...(diarization !== null && { diarization: manifestHash(diarization.manifest) }),
    stop: () => engine.stop(),
  });
}

async function startCalls(
  { bus, node, tracer, config, log }: NodeParts,
  { manifest }: PackageFolder,
  own: Pick<CallHostOptions, "kind" | "capacity" | "runFrames" | "diarization" | "isGivenUp" | "perform"> & {
    stop(): Promise<void>;
  },
): Promise<NodeHost> {
  const { cell, zone } = config;
  const { stop, ...work } = own;
  const host = new CallHost({
    ...{ bus, node, cell, zone, log, tracer, clock: systemClock, ...work },
    model: manifest.id,
    manifest: manifestHash(manifest),
  });
  const end = async () => {
    host.stop();
    await stop();
  };
  await started(host.start(), end);
  return {
    ...{ kind: work.kind, model: manifest.id, lost: host.lost },
    get isReady() {
      return host.isReady;
    },
    load: () => ({ calls: host.callCount, capacity: host.capacity }),
    drain: (withinMs) => host.drain(withinMs),
    stop: end,
  };
}

/** Awaits a start. If it fails, stops the parts that had started, and rethrows. */
async function started(starting: Promise<void>, stop: () => Promise<void>): Promise<void> {
  try {
    await starting;
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
}
