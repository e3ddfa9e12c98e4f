import { setTimeout as sleep } from "node:timers/promises";
import type { Catalog } from "../../core/domain/catalog/catalog.js";
import { RoomTone } from "../../core/domain/synthesis/room-tone.js";
import { readerFor } from "../../core/domain/text/spoken-sentences.js";
import { warmUpReading } from "../../core/domain/text/warm-up.js";
import type { Log } from "../../core/observe/log.js";
import type { Conversations } from "../../core/ports/conversations.js";
import { type DeviceTunings, readDeviceTuning } from "../../native/devices/tuning.js";
import { PASSWORD_COST, type PasswordCost } from "../console/server/passwords.js";
import { describeFront } from "../front/select-front.js";
import { checkPort } from "../front/shared/check-port.js";
import type { ThreadedFront } from "../front/threads/threaded-front.js";
import { references } from "../http/endpoints/reference.js";
import { type Demand, startOperatorServer } from "../http/operator-server.js";
import { leaveAddress, reachableUrl, withdrawAddress } from "../settings/address.js";
import type { Config } from "../settings/settings.js";
import { type Base, openBase } from "./base.js";
import { makeConversations } from "./conversations.js";
import {
  type EngineHealth,
  type EngineParts,
  type Engines,
  engineHealth,
  makeEngines,
  preloadDefaults,
  stopEngines,
} from "./engines.js";
import type { Fleet } from "./fleet.js";
import { type InstalledModels, readInstalledModels } from "./installed-models.js";
import { type Machine, readMachine } from "./machine.js";
import { Owned } from "./owned.js";
import { missingProviders, Placements } from "./placements.js";
import { describePlan, type PlannedModels, planModels } from "./planned-workers.js";
import { openPublicSide } from "./public-side.js";
import { THREAD_ENTRIES, type ThreadEntries } from "./thread-entries.js";
import type { Transport } from "./transport.js";
import { type Repeat, repeatByTimer } from "./watch-endings.js";

/** A running service. */
export interface Service {
  readonly port: number;
  readonly developmentKey: string;
  /** Nothing was in the data folder before. */
  readonly isFirstStart: boolean;
  /** How many workers the defaults have, why, and what machine was found. */
  readonly workerNote: string;
  /** What the front runs on. */
  readonly frontNote: string;
  /** What the default models cannot do, by their names. */
  readonly modelNotes: ReadonlyMap<string, string>;
  /** Settles when something the service cannot be without does not come back: it should stop and be started again. */
  readonly lost: Promise<Error>;
  /** After a crash: ends all workers and front threads by message and nothing else. Whether they ended in time. */
  endWorkers(withinMs: number): Promise<boolean>;
  /** Counts a rejection of the database driver that nobody held. */
  noteDriverFault(): void;
  /** Refuses new work, lets running work finish, and ends everything in reverse order. May be called twice. */
  stop(): Promise<void>;
}

/** What may be another than the service's own. */
export interface ServiceParts {
  /** Entries of threads. */
  readonly entries?: Partial<ThreadEntries>;
  /** Of passwords that are chosen from now on. */
  readonly passwordCost?: PasswordCost;
}

export interface ServiceOptions extends ServiceParts {
  readonly config: Config;
  readonly log: Log;
  /** Another timer for what is asked again and again. */
  readonly repeat?: Repeat;
}

/** Starts store, engines and transport, in this order; what was started is stopped when a later one fails. */
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
    const conversations = makeConversations({ ...base, engines, catalog: installed.catalog });
    const side = await openPublicSide(
      { ...base, entries, passwordCost, repeat, engines, conversations, broken: installed.broken },
      owned,
    );
    const demand = fleet === null ? undefined : () => demandOf(fleet, base);
    await startOperatorPort(base, { engines: () => engineHealth(engines, placements), demand }, owned);
    return await serve({ ...base, ...side, engines, placements, conversations, workerNote }, owned);
  } catch (error) {
    await owned.stop();
    throw error;
  }
}

/** Tells operators how many workers there are and why: the log, the metrics, and in a line the banner. */
function noteWorkers({ metrics, log }: Base, machine: Machine, { ofDefaults }: PlannedModels): string {
  metrics.machineCores.set(machine.cores);
  metrics.machineMemoryBytes.set(machine.memoryBytes);
  log.info({ machine, workers: ofDefaults }, "workers planned");
  const cores = `${machine.cores} ${machine.hasQuota ? "cores by quota" : "cores"}`;
  const memory = `${(machine.memoryBytes / 2 ** 30).toFixed(1)} GiB${machine.isMemoryLimited ? " by limit" : ""}`;
  return `${describePlan(ofDefaults)}; ${cores}, ${memory}`;
}

/** Loads the default models as well, if they are wanted before the first request. */
async function startEngines(
  parts: EngineParts & { readonly installed: Pick<InstalledModels, "catalog"> },
  owned: Owned,
): Promise<Engines> {
  const engines = makeEngines(parts);
  owned.add("engines", () => stopEngines(engines));
  const { modelPreload, serve } = parts.config;
  if (!modelPreload) return engines;
  const loading = preloadDefaults(engines, parts.config);
  // Other threads load the models meanwhile.
  if (serve.includes("synthesis")) prepareSpeech(parts.installed.catalog);
  references(serve);
  await loading;
  return engines;
}

/** So that the first request does not take the thread for that long. */
function prepareSpeech({ speaking }: Catalog): void {
  warmUpReading(new Set(speaking.all.map(({ lang }) => readerFor(lang.split("-")))));
  for (const { voices } of speaking.all) {
    for (const { manner } of voices) new RoomTone({ cutoffHz: manner.roomToneHz, seed: 0 });
  }
}

/** Its actors are no part of any other role. */
async function fleetOf(base: Base, owned: Owned): Promise<Fleet> {
  const { openFleet } = await import("./fleet.js");
  return await openFleet(base, owned);
}

/** Live sessions count from their first word, whether there is an engine for them or not. */
async function demandOf(fleet: Fleet, { metrics }: Base): Promise<Demand> {
  const { values } = await metrics.liveSessions.get();
  const { synthesis, transcription } = fleet.wanted();
  return {
    live: { wanted: values[0]?.value ?? 0 },
    synthesis: { wanted: synthesis },
    transcription: { wanted: transcription },
  };
}

async function startOperatorPort(
  { config, metrics, log }: Base,
  told: {
    readonly engines: () => readonly EngineHealth[];
    readonly demand: (() => Promise<Demand>) | undefined;
  },
  owned: Owned,
): Promise<void> {
  const { operatorHost: host, operatorPort: port } = config;
  if (port === 0) return;
  const { engines, demand } = told;
  const operator = await startOperatorServer({
    ...{ host, port, metrics, engines, log },
    ...(demand !== undefined && { demand }),
  });
  owned.add("operator port", () => operator.close());
}

interface ServingParts extends Base {
  readonly transport: Transport;
  /** Null while the main thread is the front. */
  readonly threads: ThreadedFront | null;
  readonly engines: Engines;
  readonly placements: Placements;
  readonly conversations: Conversations;
  readonly workerNote: string;
}

/** Listens. */
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
  // Commands of the operator look for it; a service without it serves as well.
  await leaveAddress(config.dataDir, url).catch((error) => log.warn({ err: error }, "no address was left"));
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
      // With sockets of the native library open, a front thread that ends with the process aborts it.
      const ended = Promise.allSettled([stopEngines(engines), threads?.close(0)]);
      return Promise.race([ended.then(() => true), sleep(withinMs, false)]);
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

/** @throws {SyntaxError} when the table of devices in the data folder is not one that `device-tuning` has written */
export async function readTunings({ dataDir }: Config, log: Log): Promise<DeviceTunings> {
  const tunings = await readDeviceTuning(dataDir);
  for (const [provider, tuning] of Object.entries(tunings))
    log.info({ provider, ...tuning }, "rows by device");
  return tunings;
}
