import type { Catalog } from "../../core/domain/catalog/catalog.js";
import { seconds } from "../../core/domain/rounded.js";
import { RoomTone } from "../../core/domain/synthesis/room-tone.js";
import { readerFor } from "../../core/domain/text/spoken-sentences.js";
import { warmUpReading } from "../../core/domain/text/warm-up.js";
import { settlesWithin } from "../../core/kernel/readiness.js";
import type { Log } from "../../core/observe/log.js";
import type { Conversations } from "../../core/ports/conversations.js";
import { type DeviceTunings, readDeviceTuning } from "../../native/devices/tuning.js";
import { ReadingThread } from "../../native/reading/reading-thread.js";
import { PASSWORD_COST, type PasswordCost } from "../console/server/passwords.js";
import { describeFront } from "../front/select-front.js";
import { checkPort } from "../front/shared/check-port.js";
import type { ThreadedFront } from "../front/threads/threaded-front.js";
import { references } from "../http/endpoints/reference.js";
import { type Demand, startOperatorServer } from "../http/operator-server.js";
import { OngoingRequests } from "../jobs/ongoing-requests.js";
import { SHIPPED_IDS } from "../models/defaults.js";
import { publishAddress, reachableUrl, withdrawAddress } from "../settings/address.js";
import type { Config } from "../settings/settings.js";
import { type Base, Owned, openBase, THREAD_ENTRIES, type ThreadEntries } from "./base.js";
import { makeConversations, unbilledTranscription } from "./conversations.js";
import {
  type EngineParts,
  type Engines,
  engineHealth,
  liveLateness,
  makeEngines,
  preloadDefaults,
  stopEngines,
} from "./engines.js";
import type { Fleet } from "./fleet.js";
import { type InstalledModels, readInstalledModels } from "./installed-models.js";
import { type Machine, readMachine } from "./machine.js";
import { missingProviders, Placements } from "./placements.js";
import { openPublicSide } from "./public-side.js";
import { withStoredWords } from "./stored-words.js";
import type { Transport } from "./transport.js";
import { type Repeat, repeatByTimer } from "./watch-endings.js";
import { describePlan, type PlannedModels, planModels } from "./worker-plan.js";

export interface Service {
  readonly port: number;
  readonly developmentKey: string;
  /** True if the data folder was empty before. */
  readonly isFirstStart: boolean;
  /** Description of the default models' workers and the machine, for the start message. */
  readonly workerNote: string;
  /** Description of the front's library, for the start message. */
  readonly frontNote: string;
  /** Limits of the default models, by model name. */
  readonly modelNotes: ReadonlyMap<string, string>;
  /** Settles if a vital part is lost permanently, so that the service should be restarted. */
  readonly lost: Promise<Error>;
  /** Used after a crash: ends only workers and front threads, and returns whether they ended in time. */
  endWorkers(withinMs: number): Promise<boolean>;
  /** Counts an unhandled rejection of the database driver. */
  noteDriverFault(): void;
  /** Rejects new work, waits for running work, and stops everything in reverse order. May be called twice. */
  stop(): Promise<void>;
}

/** Parts that tests may replace. */
export interface ServiceParts {
  readonly entries?: Partial<ThreadEntries>;
  /** Cost of hashing new passwords. */
  readonly passwordCost?: PasswordCost;
}

export interface ServiceOptions extends ServiceParts {
  readonly config: Config;
  readonly log: Log;
  /** Replaces the timer of periodic queries. */
  readonly repeat?: Repeat;
}

/** Starts store, engines and transport, in this order. If one fails, those before it are stopped. */
export async function startService({
  config,
  log,
  entries: others = {},
  passwordCost = PASSWORD_COST,
  repeat = repeatByTimer,
}: ServiceOptions): Promise<Service> {
  const owned = new Owned(log);
  const entries = { ...THREAD_ENTRIES, ...others };
  try {
    await checkPorts(config);
    const missing = await missingProviders(config);
    const base = await openBase(config, log, owned);
    const installed = await readInstalledModels(config, log);
    const placements = new Placements(config, missing, base);
    const machine = readMachine();
    const workers = await planModels(config, installed, machine, (kind) => placements.deviceCount(kind));
    const workerNote = noteWorkers(base, machine, workers);
    const tunings = await readTunings(config, log);
    const fleet = config.role === "gateway" ? await fleetOf(base, owned) : null;
    const parts = { ...base, entries, installed, workers, placements, tunings, fleet };
    const engines = await startEngines(parts, owned);
    base.metrics.observeLiveLateness(() => liveLateness(engines));
    const reader = startReader(base, installed, owned);
    const talking = { ...base, engines, reader, catalog: catalogOf(installed, fleet) };
    const requests = new OngoingRequests();
    const made = makeConversations(talking);
    const transcription = requests.counting(made.transcription);
    const expectFile = requests.countingExpected(made.expectFile);
    const conversations = withStoredWords({ ...made, transcription, expectFile });
    const side = await openPublicSide(
      {
        ...{ ...base, entries, passwordCost, repeat, engines, conversations },
        ...{ broken: installed.broken, transcribe: unbilledTranscription(talking), requests },
      },
      owned,
    );
    const demand = fleet !== null && { demand: () => demandOf(fleet, engines, base) };
    await startOperatorPort(base, { engines: () => engineHealth(engines, placements), ...demand }, owned);
    return await serve({ ...base, ...side, engines, placements, conversations, workerNote }, owned);
  } catch (error) {
    await owned.stop();
    throw error;
  }
}

/** Returns the installed models; in a gateway, its engines tell speakers apart or do not. */
function catalogOf({ catalog, diarization }: InstalledModels, fleet: Fleet | null): Catalog {
  if (fleet === null || diarization === null) return catalog;
  return {
    ...catalog,
    diarization: { name: diarization.manifest.id, isServed: fleet.offerOf(diarization) },
  };
}

/** Creates the reader of transcripts. It runs in a thread that starts with the first transcript. */
function startReader(
  { log, config }: Base,
  { punctuation: model }: Pick<InstalledModels, "punctuation">,
  owned: Owned,
): ReadingThread {
  const isShipped = model.manifest.id === SHIPPED_IDS.punctuation;
  const reader = new ReadingThread({
    model,
    // Public models take seconds to load, so they stay loaded as long as other models.
    ...(!isShipped && { idleMs: config.modelIdleMs }),
    onFailure: (error) => log.error({ err: error }, "reading thread failed: text without punctuation"),
  });
  owned.add("reading thread", () => reader.stop());
  return reader;
}

/** Reports the planned workers in the log and the metrics, and returns a line for the start message. */
function noteWorkers({ metrics, log }: Base, machine: Machine, { ofDefaults }: PlannedModels): string {
  metrics.machineCores.set(machine.cores);
  metrics.machineMemoryBytes.set(machine.memoryBytes);
  log.info({ machine, workers: ofDefaults }, "workers planned");
  const cores = `${machine.cores} ${machine.hasQuota ? "cores by quota" : "cores"}`;
  const memory = `${(machine.memoryBytes / 2 ** 30).toFixed(1)} GiB${machine.isMemoryLimited ? " by limit" : ""}`;
  return `${describePlan(ofDefaults)}; ${cores}, ${memory}`;
}

/** Creates the engines, and loads the default models if the settings say so. */
async function startEngines(
  parts: EngineParts & { readonly installed: Pick<InstalledModels, "catalog"> },
  owned: Owned,
): Promise<Engines> {
  const engines = makeEngines(parts);
  owned.add("engines", () => stopEngines(engines));
  const { modelPreload, serve } = parts.config;
  if (!modelPreload) return engines;
  const loading = preloadDefaults(engines, parts.config);
  // Prepare this thread while other threads load the models.
  if (serve.includes("synthesis")) prepareSpeech(parts.installed.catalog);
  references(serve);
  await loading;
  return engines;
}

/** Compiles code and fills caches that would otherwise block the thread at the first request. */
function prepareSpeech({ speaking }: Catalog): void {
  warmUpReading(new Set(speaking.all.map(({ lang }) => readerFor(lang.split("-")))));
  for (const { voices } of speaking.all) {
    for (const { manner } of voices) new RoomTone({ cutoffHz: manner.roomToneHz, seed: 0 });
  }
}

/** Imports the fleet's actors, which only gateways need. */
async function fleetOf(base: Base, owned: Owned): Promise<Fleet> {
  const { openFleet } = await import("./fleet.js");
  return await openFleet(base, owned);
}

/** Counts the work that needs engines. Live sessions count even before there is an engine for them. */
async function demandOf(fleet: Fleet, engines: Engines, { metrics }: Base): Promise<Demand> {
  const { values } = await metrics.liveSessions.get();
  const late_seconds = seconds(Math.max(0, ...liveLateness(engines).values()));
  const { synthesis, transcription } = fleet.wanted();
  return {
    live: { wanted: values[0]?.value ?? 0, late_seconds },
    synthesis: { wanted: synthesis },
    transcription: { wanted: transcription },
  };
}

/** Opens the operator port. Returns the port in use; 0 if the settings want none. */
export async function startOperatorPort(
  { config, metrics, log }: Pick<Base, "config" | "metrics" | "log">,
  shown: Pick<Parameters<typeof startOperatorServer>[0], "engines" | "isReady" | "demand">,
  owned: Owned,
): Promise<number> {
  const { operatorHost: host, operatorPort: port } = config;
  if (port === 0) return 0;
  const operator = await startOperatorServer({ host, port, metrics, log, ...shown });
  owned.add("operator port", () => operator.close());
  return operator.port;
}

interface ServingParts extends Base {
  readonly transport: Transport;
  /** Null if the main thread is the front. */
  readonly threads: ThreadedFront | null;
  readonly engines: Engines;
  readonly placements: Placements;
  readonly conversations: Conversations;
  readonly workerNote: string;
}

async function serve(parts: ServingParts, owned: Owned): Promise<Service> {
  const {
    config,
    log,
    store,
    transport,
    threads,
    engines,
    placements,
    conversations,
    metrics,
    isFirstStart,
    workerNote,
  } = parts;
  const { catalog } = conversations;
  const developmentKey = await store.developmentKey();
  const port = await transport.listen(config.host, config.port);
  const url = reachableUrl(config.host, port);
  // Operator commands read the address. The service works without it.
  await publishAddress(config.dataDir, url).catch((error) => log.warn({ err: error }, "address not written"));
  let stopping: Promise<void> | null = null;
  const stop = async () => {
    await withdrawAddress(config.dataDir, url).catch(() => {});
    await transport.drain(config.drainMs);
    await owned.stop();
  };
  return {
    port,
    developmentKey,
    isFirstStart,
    workerNote,
    frontNote: describeFront(transport.front),
    modelNotes: new Map(
      [catalog.hearing.default, catalog.speaking.default].flatMap(({ name, notes }) =>
        notes === null ? [] : [[name, notes] as const],
      ),
    ),
    lost: Promise.race([store.lost, placements.lost, ...(threads === null ? [] : [threads.lost])]),
    endWorkers: (withinMs) => {
      // If a front thread ends with the process while its native sockets are open, it aborts the process.
      return settlesWithin(Promise.allSettled([stopEngines(engines), threads?.close(0)]), withinMs);
    },
    noteDriverFault: () => metrics.databaseDriverFaults.inc(),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

async function checkPorts({ host, port, operatorHost, operatorPort }: Config): Promise<void> {
  await checkPort({ host, port, settings: { host: "HOST", port: "PORT" } });
  const settings = { host: "OPERATOR_HOST", port: "OPERATOR_PORT" };
  await checkPort({ host: operatorHost, port: operatorPort, settings });
}

/** Reads measured batch sizes. @throws {SyntaxError} if `device-tuning` did not write the file */
export async function readTunings({ dataDir }: Config, log: Log): Promise<DeviceTunings> {
  const tunings = await readDeviceTuning(dataDir);
  for (const [provider, tuning] of Object.entries(tunings))
    log.info({ provider, ...tuning }, "rows by device");
  return tunings;
}
