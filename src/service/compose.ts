import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LiveEngine, type LiveObserver } from "../../actors/live/engine.js";
import { type Engine, ResidentModel } from "../../actors/residency/resident-model.js";
import { SynthesisEngine } from "../../actors/synthesis/engine.js";
import { TranscriptionEngine } from "../../actors/transcription/engine.js";
import { loadBinding } from "../../native/beam/binding.js";
import {
  findPackages,
  type ModelManifest,
  type ModelPackage,
  type RecognizerManifest,
  type SynthesizerManifest,
} from "../../native/models/package.js";
import { readAlphabet } from "../../native/models/tokens.js";
import { startFilePool, startLiveWorker, startSynthesisWorker } from "../../native/start-workers.js";
import { consoleApi } from "../console/server/api.js";
import { pageRoutes } from "../console/server/pages-routes.js";
import { TemporaryKeys } from "../console/server/temporary-keys.js";
import { ServiceError } from "../domain/errors.js";
import { warmUpReading } from "../domain/text/warm-up.js";
import { checkPort } from "../front/shared/check-port.js";
import { connectionsWithin, descriptorLimit, openDescriptors } from "../front/shared/descriptors.js";
import { ThreadedFront } from "../front/threads/threaded-front.js";
import { AnswerFiles } from "../http/answer-files.js";
import { TrustedProxies } from "../http/client-address.js";
import { KeyEndings } from "../http/key-endings.js";
import { startOperatorServer } from "../http/operator-server.js";
import { SpeechBudget } from "../http/speech-budget.js";
import { DiskSpace, SpoolBudget } from "../http/spool-budget.js";
import { openDecoder } from "../input/media/open-decoder.js";
import { AddressPolicy } from "../input/url/address-policy.js";
import { UrlFetcher } from "../input/url/url-fetcher.js";
import type { Log } from "../observe/log.js";
import { Metrics } from "../observe/metrics.js";
import { systemClock } from "../ports/clock.js";
import { DEFAULT_FRONT_LIMITS, type FrontHandlers } from "../ports/front.js";
import type { SpoolRoom } from "../ports/spool-room.js";
import { leaveAddress, reachableUrl, withdrawAddress } from "../settings/address.js";
import type { Config } from "../settings/settings.js";
import { openStore, type Store } from "../store/store.js";
import { type ConversationEngines, makeConversations } from "./conversations.js";
import { createTransport, type Transport } from "./transport.js";

/** The longest file, in decoded audio. */
const MAX_FILE_SECONDS = 2 * 3_600;

/** As long as look-ups of keys are remembered. */
const ENDINGS_EVERY_MS = 30_000;

/** A running service. */
export interface Service {
  readonly port: number;
  readonly developmentKey: string;
  /** Nothing was in the data folder before. */
  readonly isFirstStart: boolean;
  /** Settles when something the service cannot be without does not come back: it should stop and be started anew. */
  readonly lost: Promise<Error>;
  /** For fault tests; does nothing unless the service was started with `allowFaults`. */
  injectFault(room: "live" | "synthesis" | "transcription" | "front"): void;
  /** After a crash: ends all workers by message and nothing else. Whether they ended in time. */
  endWorkers(withinMs: number): Promise<boolean>;
  /** Counts a rejection of the database driver that nobody held. */
  noteDriverFault(): void;
  /** Refuses new work, lets running work finish, and ends everything in reverse order. May be called twice. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly config: Config;
  readonly log: Log;
  readonly allowFaults?: boolean;
}

/** Starts store, engines and transport, in this order; whatever was started is stopped when a later one fails. */
export async function startService({ config, log, allowFaults = false }: ServiceOptions): Promise<Service> {
  const owned: { readonly name: string; stop(): Promise<void> }[] = [];
  const stopOwned = async () => {
    for (const child of owned.splice(0).reverse()) {
      await child
        .stop()
        .catch((error: unknown) => log.error({ err: error, child: child.name }, "stop failed"));
    }
  };
  try {
    await checkPorts(config);
    const spoolFolder = join(config.dataDir, "spool");
    const store = await openStore(config, log);
    owned.push({ name: "store", stop: () => store.close() });
    // Only now: while the folder is another service's, so are the files in it.
    const isFirstStart = await emptyFolder(spoolFolder);
    // While the folder is still ours: uploads that the end of the service cuts off would stay until the next start.
    owned.push({ name: "spool", stop: async () => void (await emptyFolder(spoolFolder)) });
    const meter = await store.startMeter(config.tariffs);
    const packages = await findPackages(config.modelsDir);
    const metrics = new Metrics({ withProcess: config.operatorPort > 0 });
    metrics.beamSearchNative.set(hasNativeSearch(log) ? 1 : 0);
    const disk = new DiskSpace(config.dataDir, config.diskFloorBytes);
    const room = new SpoolBudget(config.spoolBytes, disk);
    if (!(await disk.hasRoomFor(0))) {
      log.warn(
        { dataDir: config.dataDir, diskFloorBytes: config.diskFloorBytes },
        "too little free disk space",
      );
    }
    metrics.observeSpool(() => room.takenBytes);
    const speechBudget = new SpeechBudget(config.speechMemoryBytes);
    metrics.observeHeldSpeech(() => speechBudget.takenBytes);
    const engines = makeEngines({ config, log, allowFaults, spoolFolder, room, packages, metrics });
    owned.push({ name: "live engine", stop: () => engines.live.stop() });
    owned.push({ name: "transcription engine", stop: () => engines.transcription.stop() });
    owned.push({ name: "synthesis engine", stop: () => engines.synthesis.stop() });
    const { live, transcription, synthesis } = engines;
    const models = config.modelPreload ? [live.preload(), transcription.preload(), synthesis.preload()] : [];
    // Other threads load the models meanwhile.
    warmUpReading();
    await Promise.all(models);
    const alphabet = await readAlphabet(engines.recognizer);
    const conversations = makeConversations({
      engines,
      meter,
      config,
      packages,
      alphabet,
      spoolFolder,
      room,
      metrics,
      log,
    });
    const answers = await AnswerFiles.open({
      folder: join(config.dataDir, "answers"),
      capacityBytes: config.keptAnswersBytes,
      owners: await store.ownersOfLongAnswers(),
      disk,
      log,
    });
    owned.push({ name: "kept answers", stop: async () => answers.close() });
    const limits = { ...DEFAULT_FRONT_LIMITS, maxConnections: maxConnections(config, log) };
    let threads: ThreadedFront | null = null;
    const makeFront = (handlers: FrontHandlers) => {
      threads = new ThreadedFront({ threadCount: config.frontThreads, handlers, limits, log, allowFaults });
      return threads;
    };
    const endings = new KeyEndings();
    const temporaryKeys = new TemporaryKeys(store.keys, systemClock, endings);
    owned.push(watchEndings({ store, endings, temporaryKeys, log }));
    const consoleDeps = {
      store: store.console,
      topUps: store.vouchers,
      temporaryKeys,
      endings,
      proxies: new TrustedProxies(config.trustedProxies),
      clock: systemClock,
      log,
    };
    const transport = createTransport({
      front: config.front,
      limits,
      ...(config.frontThreads > 1 && { makeFront }),
      conversations,
      keys: temporaryKeys,
      endings,
      extraRoutes: [...consoleApi(consoleDeps), ...pageRoutes()],
      isReady: async () => !isGivenUp(engines) && (await disk.hasRoomFor(0)) && (await store.canServe()),
      spoolDir: spoolFolder,
      room,
      speechBudget,
      idempotency: store.startIdempotency(meter.serviceId),
      answers,
      urls: new UrlFetcher({ policy: new AddressPolicy(config.urlFetchAllow) }),
      limitsOf: ({ tier }) => config.concurrency[tier],
      metrics,
      log,
    });
    owned.push({ name: "transport", stop: () => transport.close() });
    if (config.operatorPort > 0) {
      const { operatorHost: host, operatorPort: port } = config;
      const operator = await startOperatorServer({ host, port, metrics, log });
      owned.push({ name: "operator port", stop: () => operator.close() });
    }
    return await serve({
      config,
      log,
      store,
      transport,
      threads,
      engines,
      metrics,
      isFirstStart,
      stopOwned,
    });
  } catch (error) {
    await stopOwned();
    throw error;
  }
}

/**
 * Asks every half minute whether keys at work on live sockets, and sessions behind playground keys, were ended elsewhere:
 * by a command, or by another service on the same database. What ends here is told at once.
 */
function watchEndings(parts: { store: Store; endings: KeyEndings; temporaryKeys: TemporaryKeys; log: Log }): {
  readonly name: string;
  stop(): Promise<void>;
} {
  const { store, endings, temporaryKeys, log } = parts;
  const look = async () => {
    for (const id of await store.apiKeys.revokedAmong(endings.watched)) endings.end(id);
    await temporaryKeys.endLost(store.console.users);
  };
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    // A database that is away ends nobody: it is asked again.
    look()
      .catch((error: unknown) => log.warn({ err: error }, "ended keys not looked up"))
      .finally(() => {
        isLooking = false;
      });
  }, ENDINGS_EVERY_MS);
  return { name: "watch of ended keys", stop: async () => clearInterval(timer) };
}

/** As many as the process's descriptors allow, or fewer if that is set. */
function maxConnections(config: Config, log: Log): number {
  const limit = descriptorLimit();
  const wanted = config.maxConnections;
  if (limit === null) return wanted ?? DEFAULT_FRONT_LIMITS.maxConnections;
  const allowed = connectionsWithin(limit, openDescriptors() ?? 0);
  if (wanted === null || wanted <= allowed) return wanted ?? allowed;
  log.warn({ wanted, allowed, limit }, "MAX_CONNECTIONS is more than the limit of open files allows");
  return allowed;
}

interface Serving {
  readonly config: Config;
  readonly log: Log;
  readonly store: Store;
  readonly transport: Transport;
  /** Null while the main thread is the front. */
  readonly threads: ThreadedFront | null;
  readonly engines: ConversationEngines;
  readonly metrics: Metrics;
  readonly isFirstStart: boolean;
  readonly stopOwned: () => Promise<void>;
}

async function serve({
  config,
  log,
  store,
  transport,
  threads,
  engines,
  metrics,
  isFirstStart,
  stopOwned,
}: Serving): Promise<Service> {
  const developmentKey = await store.developmentKey();
  const port = await transport.listen(config.host, config.port);
  const url = reachableUrl(config.host, port);
  // Commands of the operator look for it; a service without it serves as well.
  await leaveAddress(config.dataDir, url).catch((error) => log.warn({ err: error }, "no address was left"));
  let stopping: Promise<void> | null = null;
  const stop = async () => {
    await withdrawAddress(config.dataDir, url).catch(() => {});
    await transport.drain(config.drainMs);
    await stopOwned();
  };
  return {
    port,
    developmentKey,
    isFirstStart,
    lost: threads === null ? store.lost : Promise.race([store.lost, threads.lost]),
    injectFault: (room) => {
      if (room === "front") threads?.injectFault();
      else engines[room].warmEngine?.injectFault();
    },
    endWorkers: (withinMs) => {
      const { live, transcription, synthesis } = engines;
      const ended = Promise.allSettled([live.stop(), transcription.stop(), synthesis.stop()]);
      return Promise.race([ended.then(() => true), sleep(withinMs, false)]);
    },
    noteDriverFault: () => metrics.databaseDriverFaults.inc(),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** An engine that has lost all its workers refuses whatever comes. */
function isGivenUp({ live, synthesis }: ConversationEngines): boolean {
  return live.warmEngine?.isGivenUp === true || synthesis.warmEngine?.isGivenUp === true;
}

function makeEngines(options: {
  config: Config;
  log: Log;
  allowFaults: boolean;
  spoolFolder: string;
  room: SpoolRoom;
  packages: readonly ModelPackage[];
  metrics: Metrics;
}): ConversationEngines {
  const { config, log, allowFaults, spoolFolder, room, packages, metrics } = options;
  const recognizer = packageFor<RecognizerManifest>(packages, "transcription", config.modelsDir);
  const synthesizer = packageFor<SynthesizerManifest>(packages, "synthesis", config.modelsDir);
  const settings = { intraOpThreads: config.ortThreads, allowFaults };
  const recognizerSettings = { ...settings, modelFolder: recognizer.folder };
  const rows = config.synthesisRows;
  const synthesizerSettings = { ...settings, modelFolder: synthesizer.folder, rows };
  const { frameSamples, contextFrames, sampleRateHz, id } = recognizer.manifest;
  const resident = <E extends Engine>(name: string, makeEngine: () => E) =>
    new ResidentModel<E>({
      name,
      makeEngine,
      idleMs: config.modelIdleMs,
      observer: metrics.observeModel(name),
      clock: systemClock,
      log,
    });
  return {
    recognizer,
    synthesizer: synthesizer.manifest,
    live: resident("live", () => {
      return new LiveEngine({
        workerCount: config.liveWorkers,
        startWorker: (cells, onMessage) => startLiveWorker(recognizerSettings, cells, onMessage),
        contextSamples: contextFrames * frameSamples,
        sampleRateHz,
        clock: systemClock,
        log,
        observer: liveObserver(metrics),
      });
    }),
    transcription: resident("transcription", () => {
      return new TranscriptionEngine({
        pool: startFilePool({ ...recognizerSettings, workerCount: config.fileWorkers }),
        modelId: id,
        sampleRateHz,
        spoolFolder,
        room,
        maxSeconds: MAX_FILE_SECONDS,
        log,
      });
    }),
    decoder: openDecoder({
      searchPath: process.env["PATH"] ?? "",
      maxSeconds: MAX_FILE_SECONDS,
      log,
    }),
    synthesis: resident("synthesis", () => {
      return new SynthesisEngine({
        workerCount: config.synthesisWorkers,
        startWorker: (shared, onMessage) => startSynthesisWorker(synthesizerSettings, shared, onMessage),
        sampleRateHz: synthesizer.manifest.sampleRateHz,
        observer: metrics.observeSynthesis,
        clock: systemClock,
        log,
      });
    }),
  };
}

function liveObserver(metrics: Metrics): LiveObserver {
  return {
    paced({ stepsMs, busyMs, runMs }) {
      for (const stepMs of stepsMs) metrics.asrStepMs.observe(stepMs);
      metrics.liveWorkerBusySeconds.inc(busyMs / 1_000);
      metrics.liveWorkerRunSeconds.inc(runMs / 1_000);
    },
    ringFull: () => metrics.ringFull.inc(),
  };
}

/** Says once which search finals come from; the workers choose in the same way. */
function hasNativeSearch(log: Log): boolean {
  const { missing } = loadBinding();
  if (missing === null) log.info({ search: "native" }, "beam search");
  else
    log.warn({ search: "typescript", reason: missing }, "beam search: no native addon, finals cost more CPU");
  return missing === null;
}

function packageFor<M extends ModelManifest>(
  packages: readonly ModelPackage[],
  task: M["task"],
  modelsDir: string,
): ModelPackage<M> {
  const found = packages.find(({ manifest }) => manifest.task === task);
  if (found === undefined) {
    throw new ServiceError("MODEL_BROKEN", `Cannot start: no model package for ${task} in ${modelsDir}`);
  }
  return found as ModelPackage<M>;
}

async function checkPorts({ host, port, operatorHost, operatorPort }: Config): Promise<void> {
  await checkPort({ host, port, settings: { host: "HOST", port: "PORT" } });
  const settings = { host: "OPERATOR_HOST", port: "OPERATOR_PORT" };
  await checkPort({ host: operatorHost, port: operatorPort, settings });
}

/** What an earlier run left there belongs to nobody any more. Returns whether there was no earlier run. */
async function emptyFolder(path: string): Promise<boolean> {
  const isNew = !existsSync(path);
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { recursive: true, mode: 0o700 });
  return isNew;
}
