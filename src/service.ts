import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { LiveEngine } from "../actors/engine/live-engine.js";
import { SynthesisEngine } from "../actors/engine/synthesis-engine.js";
import { TranscriptionEngine } from "../actors/engine/transcription-engine.js";
import { BilledSynthesis } from "../actors/session/billed-synthesis.js";
import { BilledTranscription } from "../actors/session/billed-transcription.js";
import type { Caller, CatalogModel, Conversations } from "../actors/session/conversation.js";
import { LiveSession } from "../actors/session/live.js";
import { planSynthesis } from "../actors/session/plan-synthesis.js";
import { SynthesisSession } from "../actors/session/synthesis.js";
import { TranscriptionSession } from "../actors/session/transcription.js";
import {
  findPackages,
  type ModelManifest,
  type ModelPackage,
  type RecognizerManifest,
  type SynthesizerManifest,
} from "../native/onnx/model-package.js";
import { startFilePool, startLiveWorker, startSynthesisWorker } from "../native/worker/start-workers.js";
import type { Config } from "./config.js";
import { SpeechError } from "./domain/errors.js";
import { AddressPolicy } from "./fetching/address-policy.js";
import { UrlFetcher } from "./fetching/url-fetcher.js";
import { DecodingTranscriber } from "./media/decoding-transcriber.js";
import { openDecoder } from "./media/open-decoder.js";
import type { Log } from "./observe/log.js";
import { Metrics } from "./observe/metrics.js";
import { systemClock } from "./ports/clock.js";
import type { Transcriber } from "./ports/transcriber.js";
import type { UsageMeter, UsageReference } from "./ports/usage-meter.js";
import { openStore, type Store } from "./store/store.js";
import { startOperatorServer } from "./transport/operator-server.js";
import { createTransport, type Transport } from "./transport/transport.js";

/** The longest file, in decoded audio. */
const MAX_FILE_SECONDS = 2 * 3_600;

/** A running service. */
export interface Service {
  readonly port: number;
  readonly developmentKey: string;
  /** Nothing was in the data folder before. */
  readonly isFirstStart: boolean;
  /** Settles when something the service cannot be without does not come back: it should stop and be started anew. */
  readonly lost: Promise<Error>;
  /** For fault tests; does nothing unless the service was started with `allowFaults`. */
  injectFault(room: "live" | "synthesis"): void;
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
    const spoolFolder = join(config.dataDir, "spool");
    const isFirstStart = await emptyFolder(spoolFolder);
    const store = await openStore(config, log);
    owned.push({ name: "store", stop: () => store.close() });
    const meter = await store.startMeter(config.tariffs);
    const packages = await findPackages(config.modelsDir);
    const engines = makeEngines({ config, log, allowFaults, spoolFolder, packages });
    owned.push({ name: "live engine", stop: () => engines.live.stop() });
    owned.push({ name: "transcription engine", stop: () => engines.transcription.stop() });
    owned.push({ name: "synthesis engine", stop: () => engines.synthesis.stop() });
    await Promise.all([engines.live.start(), engines.transcription.start(), engines.synthesis.start()]);
    const metrics = new Metrics({ withProcess: config.operatorPort > 0 });
    const conversations = makeConversations({ engines, meter, packages, log });
    const transport = createTransport({
      front: config.front,
      conversations,
      keys: store.keys,
      isReady: () => store.isReachable(),
      spoolDir: spoolFolder,
      urls: new UrlFetcher({ policy: new AddressPolicy(config.urlFetchAllow) }),
      limitsOf: () => config.concurrency.paid,
      metrics,
      log,
    });
    owned.push({ name: "transport", stop: () => transport.close() });
    if (config.operatorPort > 0) {
      const { operatorHost: host, operatorPort: port } = config;
      const operator = await startOperatorServer({ host, port, metrics, log });
      owned.push({ name: "operator port", stop: () => operator.close() });
    }
    return await serve({ config, store, transport, engines, isFirstStart, stopOwned });
  } catch (error) {
    await stopOwned();
    throw error;
  }
}

interface Serving {
  readonly config: Config;
  readonly store: Store;
  readonly transport: Transport;
  readonly engines: Engines;
  readonly isFirstStart: boolean;
  readonly stopOwned: () => Promise<void>;
}

async function serve({
  config,
  store,
  transport,
  engines,
  isFirstStart,
  stopOwned,
}: Serving): Promise<Service> {
  const developmentKey = await store.developmentKey();
  const port = await transport.listen(config.host, config.port);
  let stopping: Promise<void> | null = null;
  const stop = async () => {
    await transport.drain(config.drainMs);
    await stopOwned();
  };
  return {
    port,
    developmentKey,
    isFirstStart,
    lost: store.lost,
    injectFault: (room) => engines[room].injectFault(),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

interface Engines {
  readonly live: LiveEngine;
  readonly transcription: TranscriptionEngine;
  /** The transcription engine behind a decoder, so that it takes files of any container. */
  readonly files: Transcriber;
  readonly synthesis: SynthesisEngine;
  readonly recognizer: RecognizerManifest;
  readonly synthesizer: SynthesizerManifest;
}

function makeEngines(options: {
  config: Config;
  log: Log;
  allowFaults: boolean;
  spoolFolder: string;
  packages: readonly ModelPackage[];
}): Engines {
  const { config, log, allowFaults, spoolFolder, packages } = options;
  const recognizer = packageFor<RecognizerManifest>(packages, "transcription", config.modelsDir);
  const synthesizer = packageFor<SynthesizerManifest>(packages, "synthesis", config.modelsDir);
  const settings = { intraOpThreads: config.ortThreads, allowFaults };
  const recognizerSettings = { ...settings, modelFolder: recognizer.folder };
  const synthesizerSettings = { ...settings, modelFolder: synthesizer.folder };
  const { frameSamples, contextFrames, sampleRateHz, id } = recognizer.manifest;
  const transcription = new TranscriptionEngine({
    pool: startFilePool({ ...recognizerSettings, workerCount: config.fileWorkers }),
    modelId: id,
    sampleRateHz,
    spoolFolder,
    maxSeconds: MAX_FILE_SECONDS,
    log,
  });
  const decoder = openDecoder({
    searchPath: process.env["PATH"] ?? "",
    maxSeconds: MAX_FILE_SECONDS,
    log,
  });
  return {
    recognizer: recognizer.manifest,
    synthesizer: synthesizer.manifest,
    live: new LiveEngine({
      workerCount: config.liveWorkers,
      startWorker: (cells, onMessage) => startLiveWorker(recognizerSettings, cells, onMessage),
      contextSamples: contextFrames * frameSamples,
      sampleRateHz,
      clock: systemClock,
      log,
    }),
    transcription,
    files: new DecodingTranscriber(decoder, transcription, spoolFolder),
    synthesis: new SynthesisEngine({
      workerCount: config.synthesisWorkers,
      startWorker: (shared, onMessage) => startSynthesisWorker(synthesizerSettings, shared, onMessage),
      sampleRateHz: synthesizer.manifest.sampleRateHz,
      clock: systemClock,
      log,
    }),
  };
}

function makeConversations(parts: {
  engines: Engines;
  meter: UsageMeter;
  packages: readonly ModelPackage[];
  log: Log;
}): Conversations {
  const { engines, meter, packages, log } = parts;
  const models = packages.map(({ manifest }) => toCatalogModel(manifest));
  const { live, files: transcription, synthesis, recognizer } = engines;
  return {
    models,
    requireCredit: (caller, kind) => meter.requireCredit(caller.identity.organizationId, kind),
    synthesis: (caller, request) => {
      const session = new SynthesisSession(planSynthesis(request, models), synthesis);
      return new BilledSynthesis(meter, usageReference(caller), session);
    },
    transcription: (caller, path) =>
      new BilledTranscription(meter, usageReference(caller), (onLength) => {
        return new TranscriptionSession(path, transcription, systemClock, onLength);
      }),
    live: (caller, options, sink) =>
      new LiveSession({
        sessionId: `ses_${randomBytes(12).toString("hex")}`,
        requestId: caller.requestId,
        modelId: recognizer.id,
        sampleRateHz: recognizer.sampleRateHz,
        options,
        decoder: live,
        meter,
        organizationId: caller.identity.organizationId,
        sink,
        log: log.child({ requestId: caller.requestId }),
        onEnded: () => {},
      }),
  };
}

/** One request, one charge. */
function usageReference({ requestId, identity }: Caller): UsageReference {
  return { id: requestId, organizationId: identity.organizationId };
}

function toCatalogModel(manifest: ModelManifest): CatalogModel {
  const isSynthesis = manifest.task === "synthesis";
  return {
    name: manifest.id,
    task: manifest.task,
    lang: manifest.languages.join("-"),
    sample_rate: manifest.sampleRateHz,
    voices: isSynthesis
      ? manifest.voices.map(({ name, gender, style, best_for }) => ({ name, gender, style, best_for }))
      : [],
    default_voice: isSynthesis ? manifest.defaultVoice : "",
  };
}

function packageFor<M extends ModelManifest>(
  packages: readonly ModelPackage[],
  task: M["task"],
  modelsDir: string,
): ModelPackage<M> {
  const found = packages.find(({ manifest }) => manifest.task === task);
  if (found === undefined) {
    throw new SpeechError("MODEL_BROKEN", `Cannot start: no model package for ${task} in ${modelsDir}`);
  }
  return found as ModelPackage<M>;
}

/** What an earlier run left there belongs to nobody any more. Returns whether there was no earlier run. */
async function emptyFolder(path: string): Promise<boolean> {
  const isNew = !existsSync(path);
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { recursive: true });
  return isNew;
}
