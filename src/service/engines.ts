import { join } from "node:path";
import { LiveEngine, type LiveEngineOptions, type LiveObserver } from "../../actors/live/engine.js";
import { type Engine, ResidentModel } from "../../actors/residency/resident-model.js";
import { SynthesisEngine } from "../../actors/synthesis/engine.js";
import { TranscriptionEngine } from "../../actors/transcription/engine.js";
import type { FilePool } from "../../actors/transcription/file-queue.js";
import { LANGUAGE_MODELS_FOLDER } from "../../core/domain/decoding/unpacked-place.js";
import { type BatchRows, USUAL_ROWS } from "../../core/domain/placement/batch-rows.js";
import type { ServedPart } from "../../core/domain/served.js";
import { SPEECH_RATE_HZ } from "../../core/domain/synthesis/speech-rate.js";
import type { UsageKind } from "../../core/domain/usage/tariff.js";
import type { Log } from "../../core/observe/log.js";
import type { Metrics } from "../../core/observe/metrics.js";
import type { AudioDecoder } from "../../core/ports/audio-decoder.js";
import { systemClock } from "../../core/ports/clock.js";
import type { Synthesizer } from "../../core/ports/synthesizer.js";
import type { DeviceTunings } from "../../native/devices/tuning.js";
import { startFilePool } from "../../native/file-pool.js";
import { recognizerFamilyOf } from "../../native/models/families.js";
import type {
  DiarizationManifest,
  ModelManifest,
  RecognizerManifest,
  SynthesizerManifest,
} from "../../native/models/manifest.js";
import type { ModelPackage, PackageFolder } from "../../native/models/package.js";
import {
  startLiveWorker,
  startSynthesisWorker,
  type WorkerEntries,
  type WorkerSettings,
} from "../../native/start-workers.js";
import type { EngineState, EngineStatus } from "../console/server/service-facts.js";
import { openDecoder } from "../input/media/file-decoder.js";
import type { Config } from "../settings/settings.js";
import type { Fleet } from "./fleet.js";
import type { InstalledModels } from "./installed-models.js";
import type { EnginePlacement, Placements } from "./placements.js";
import type { EngineKind, PlannedModels } from "./worker-plan.js";

/** Longest file, in seconds of decoded audio. */
export const MAX_FILE_SECONDS = 2 * 3_600;

/** A recogniser's engines. Sessions and files have separate workers. */
interface RecognizerEngines extends PackageFolder<RecognizerManifest> {
  readonly live: ResidentModel<LiveEngine>;
  readonly transcription: ResidentModel<TranscriptionEngine>;
}

export interface SynthesizerEngine extends PackageFolder<SynthesizerManifest> {
  readonly synthesis: ResidentModel<AnySynthesizer>;
}

type AnySynthesizer = Engine & Synthesizer & { readonly isGivenUp?: boolean };

/** Engines of all installed models, which load their models on demand. */
export interface Engines {
  /** By model ID, the default first. */
  readonly recognizers: ReadonlyMap<string, RecognizerEngines>;
  /** By model ID, the default first. */
  readonly synthesizers: ReadonlyMap<string, SynthesizerEngine>;
  /** Decodes files in any container for the transcription engines. */
  readonly decoder: AudioDecoder;
  /** Parts that this process serves. Engines of other parts never start. */
  readonly serve: readonly ServedPart[];
}

export interface EngineParts {
  readonly config: Config;
  readonly log: Log;
  readonly entries: WorkerEntries;
  readonly installed: Pick<InstalledModels, "recognizers" | "synthesizers"> &
    Partial<Pick<InstalledModels, "diarization">>;
  readonly workers: PlannedModels;
  readonly placements: Placements;
  /** Measured batch sizes for the devices of this machine. */
  readonly tunings: DeviceTunings;
  readonly metrics: Metrics;
  /** Workers in other processes. Without a fleet, workers are threads of this process. */
  readonly fleet?: Fleet | null;
}

/** Parts needed for workers that are threads of this process. */
export type WorkerParts = Omit<EngineParts, "installed" | "fleet">;

/** State of one model's engine, for operators. */
export interface EngineHealth extends EnginePlacement {
  readonly engine: EngineKind;
  readonly model: string;
  readonly state: EngineState;
}

/** Creates the engines without starting them. */
export function makeEngines(parts: EngineParts): Engines {
  const { installed, log } = parts;
  const recognizers = installed.recognizers.map(
    (model): RecognizerEngines => ({
      ...model,
      live: resident("live", parts, model, () => liveEngine(parts, model)),
      transcription: resident("transcription", parts, model, () =>
        engineOver(
          parts.fleet?.filePoolOf(model, installed.diarization ?? null) ??
            filePool(parts, model, installed.diarization),
          model.manifest,
          log,
          installed.diarization?.manifest,
        ),
      ),
    }),
  );
  const synthesizers = installed.synthesizers.map(
    (model): SynthesizerEngine => ({
      ...model,
      synthesis: resident<AnySynthesizer>(
        "synthesis",
        parts,
        model,
        () => parts.fleet?.synthesizerOf(model) ?? synthesisEngine(parts, model),
      ),
    }),
  );
  return {
    recognizers: byId(recognizers),
    synthesizers: byId(synthesizers),
    serve: parts.config.serve,
    decoder: openDecoder({ searchPath: process.env["PATH"] ?? "", maxSeconds: MAX_FILE_SECONDS, log }),
  };
}

function byId<E extends PackageFolder>(engines: readonly E[]): ReadonlyMap<string, E> {
  return new Map(engines.map((engine) => [engine.manifest.id, engine]));
}

/**
 * Loads the default models. A gateway loads none, because its models are in other processes.
 * @throws whatever an engine's start threw
 */
export async function preloadDefaults(
  { recognizers, synthesizers, serve }: Engines,
  { role }: Pick<Config, "role">,
): Promise<void> {
  const [recognizer] = recognizers.values();
  const [synthesizer] = synthesizers.values();
  if (role === "gateway") return;
  const engines = serve.map((part) => (part === "synthesis" ? synthesizer?.synthesis : recognizer?.[part]));
  await Promise.all(engines.map((engine) => engine?.preload()));
}

export async function stopEngines({ recognizers, synthesizers }: Engines): Promise<void> {
  await Promise.all([
    ...[...synthesizers.values()].map(({ synthesis }) => synthesis.stop()),
    ...[...recognizers.values()].flatMap(({ live, transcription }) => [transcription.stop(), live.stop()]),
  ]);
}

/**
 * Returns whether a default model's engine has lost all its workers. Other models may have broken weights,
 * but that only affects requests that specify them.
 */
export function isGivenUp({ recognizers, synthesizers }: Engines): boolean {
  const [recognizer] = recognizers.values();
  const [synthesizer] = synthesizers.values();
  return (
    recognizer?.live.warmEngine?.isGivenUp === true || synthesizer?.synthesis.warmEngine?.isGivenUp === true
  );
}

/** Returns how late the live sessions of each loaded model are, in seconds. */
export function liveLateness({ recognizers }: Engines): ReadonlyMap<string, number> {
  return new Map([...recognizers].map(([id, { live }]) => [id, live.warmEngine?.lateSeconds ?? 0]));
}

type AnyResident = ResidentModel<Engine & { isGivenUp?: boolean }>;

function stateOf(resident: AnyResident): EngineState {
  return resident.warmEngine?.isGivenUp === true ? "down" : STATES[resident.phase];
}

/** Returns the state of each engine for the console, starting with those of the default models. */
export function engineStatuses({ recognizers, synthesizers, serve }: Engines): readonly EngineStatus[] {
  const of = (kind: UsageKind, { manifest }: PackageFolder, resident: AnyResident): EngineStatus => ({
    kind,
    model: manifest.id,
    state: stateOf(resident),
    loadMs: resident.lastLoadMs,
  });
  const speaking = [...synthesizers.values()].map((model) => [of("synthesis", model, model.synthesis)]);
  const hearing = [...recognizers.values()].map((model) => [
    of("file", model, model.transcription),
    of("live", model, model.live),
  ]);
  const [speaker = [], ...speakers] = speaking;
  const [hearer = [], ...hearers] = hearing;
  const parts = { synthesis: "synthesis", file: "transcription", live: "live" } as const;
  const all = [speaker, hearer, ...speakers, ...hearers].flat();
  return all.filter(({ kind }) => serve.includes(parts[kind]));
}

/** Returns where each engine's graphs run, starting with those of the default models. */
export function engineHealth(
  { recognizers, synthesizers, serve }: Engines,
  placements: Placements,
): readonly EngineHealth[] {
  const of = (engine: EngineKind, { manifest }: PackageFolder, resident: AnyResident): EngineHealth => ({
    engine,
    model: manifest.id,
    state: stateOf(resident),
    ...placements.status(engine, manifest.id),
  });
  return [
    ...[...recognizers.values()].flatMap((model) => [
      of("live", model, model.live),
      of("transcription", model, model.transcription),
    ]),
    ...[...synthesizers.values()].map((model) => of("synthesis", model, model.synthesis)),
  ].filter(({ engine }) => serve.includes(engine));
}

/** An engine that is being released counts as cold, because the next request loads the model again. */
const STATES: Readonly<Record<ResidentModel<Engine>["phase"], EngineState>> = {
  cold: "cold",
  loading: "loading",
  warm: "warm",
  releasing: "cold",
  stopped: "stopping",
};

function resident<E extends Engine>(
  name: EngineKind,
  { config, workers, metrics, log }: EngineParts,
  { manifest: { id } }: PackageFolder,
  makeEngine: () => E,
): ResidentModel<E> {
  const { modelIdleMs: idleMs } = config;
  const { count, reason } = workers.byModel.get(id)![name];
  metrics.engineWorkers.set({ engine: name, model: id, reason }, count);
  const observer = metrics.observeModel(name, id);
  return new ResidentModel({
    name,
    makeEngine,
    idleMs,
    observer,
    clock: systemClock,
    log: log.child({ model: id }),
  });
}

function liveEngine(parts: EngineParts, model: PackageFolder<RecognizerManifest>): LiveEngine {
  const { metrics, log, fleet } = parts;
  const { manifest } = model;
  return new LiveEngine({
    ...(fleet?.lanesOf(model) ?? liveThreads(parts, model)),
    workerCount: workerCount(parts, "live", manifest),
    contextSamples: manifest.contextFrames * manifest.frameSamples,
    sampleRateHz: manifest.sampleRateHz,
    clock: systemClock,
    log,
    observer: liveObserver(metrics, manifest.id),
  });
}

/** Creates live workers as threads of this process. */
function liveThreads(
  parts: EngineParts,
  model: PackageFolder,
): Pick<LiveEngineOptions, "startWorker" | "loadOf"> {
  const settings = workerSettings(parts, "live", model);
  const placing = parts.placements.of("live", model);
  return {
    startWorker: (cells, onMessage, lane) => startLiveWorker(settings, cells, onMessage, lane),
    loadOf: (lane, sessions) => placing.loadOf(lane, sessions),
  };
}

/** Creates file workers as threads of this process. */
export function filePool(
  parts: WorkerParts,
  model: PackageFolder<RecognizerManifest>,
  diarization: ModelPackage<DiarizationManifest> | null = null,
): FilePool {
  return startFilePool({
    diarization,
    ...workerSettings(parts, "transcription", model),
    workerCount: workerCount(parts, "transcription", model.manifest),
  });
}

/** @param diarization manifest of the workers' model for diarization */
export function engineOver(
  pool: FilePool,
  manifest: RecognizerManifest,
  log: Log,
  diarization: DiarizationManifest | null = null,
): TranscriptionEngine {
  return new TranscriptionEngine({
    speakerShape: diarization,
    pool,
    modelId: manifest.id,
    sampleRateHz: manifest.sampleRateHz,
    frameSamples: manifest.frameSamples,
    forgets: recognizerFamilyOf(manifest).can.forget(manifest),
    maxSeconds: MAX_FILE_SECONDS,
    log,
  });
}

/** Creates an engine whose workers are threads of this process. */
export function synthesisEngine(
  parts: WorkerParts,
  { folder, manifest }: PackageFolder<SynthesizerManifest>,
): SynthesisEngine {
  const { metrics, log } = parts;
  const settings = workerSettings(parts, "synthesis", { folder, manifest });
  const placing = parts.placements.of("synthesis", { folder, manifest });
  return new SynthesisEngine({
    workerCount: workerCount(parts, "synthesis", manifest),
    startWorker: (shared, onMessage, lane) => startSynthesisWorker(settings, shared, onMessage, lane),
    loadOf: (lane, pieces) => placing.loadOf(lane, pieces),
    sampleRateHz: SPEECH_RATE_HZ,
    observer: metrics.observeSynthesis(manifest.id),
    clock: systemClock,
    log,
  });
}

function workerCount({ workers }: WorkerParts, kind: EngineKind, { id }: ModelManifest): number {
  return workers.byModel.get(id)![kind].count;
}

export function workerSettings(
  {
    config,
    entries,
    placements,
    tunings,
    workers,
  }: Pick<EngineParts, "config" | "entries" | "placements" | "tunings" | "workers">,
  kind: EngineKind,
  model: PackageFolder,
): WorkerSettings {
  return {
    modelFolder: model.folder,
    intraOpThreads: workers.byModel.get(model.manifest.id)![kind].threads,
    placing: placements.of(kind, model),
    runTimes: placements.runTimesOf(model),
    rowsOn: (provider) => batchRows(config.synthesisRows, tunings[provider]),
    unpacked: { folder: join(config.dataDir, LANGUAGE_MODELS_FOLDER), leastFreeBytes: config.diskFloorBytes },
    entries,
  };
}

/** The operator's setting takes precedence over the measured batch size. */
export function batchRows(synthesisRows: number | null, measured: BatchRows = USUAL_ROWS): BatchRows {
  if (synthesisRows === null) return measured;
  return { ...measured, solverRows: synthesisRows, windowRows: synthesisRows };
}

export function liveObserver(metrics: Metrics, model: string): LiveObserver {
  const stepMs = metrics.asrStepMs.labels({ model });
  return {
    paced({ stepsMs, busyMs, runMs }) {
      for (const ms of stepsMs) stepMs.observe(ms);
      metrics.liveWorkerBusySeconds.inc(busyMs / 1_000);
      metrics.liveWorkerRunSeconds.inc(runMs / 1_000);
    },
    ringFull: () => metrics.ringFull.inc(),
  };
}
