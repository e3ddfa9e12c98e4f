import { LiveEngine, type LiveObserver } from "../../actors/live/engine.js";
import { type Engine, ResidentModel } from "../../actors/residency/resident-model.js";
import { SynthesisEngine } from "../../actors/synthesis/engine.js";
import { TranscriptionEngine } from "../../actors/transcription/engine.js";
import type { ModelManifest, RecognizerManifest, SynthesizerManifest } from "../../native/models/manifest.js";
import type { PackageFolder } from "../../native/models/package.js";
import {
  startFilePool,
  startLiveWorker,
  startSynthesisWorker,
  type WorkerEntries,
} from "../../native/start-workers.js";
import type { EngineState, EngineStatus } from "../console/server/service-facts.js";
import { ServiceError } from "../domain/errors.js";
import { SPEECH_RATE_HZ } from "../domain/synthesis/speech-rate.js";
import type { UsageKind } from "../domain/usage/tariff.js";
import { openDecoder } from "../input/media/open-decoder.js";
import { chooseDefault, type Defaults } from "../models/defaults.js";
import type { ModelFolders } from "../models/folders.js";
import type { Log } from "../observe/log.js";
import type { Metrics } from "../observe/metrics.js";
import type { AudioDecoder } from "../ports/audio-decoder.js";
import { systemClock } from "../ports/clock.js";
import type { SpoolRoom } from "../ports/spool-room.js";
import type { Config } from "../settings/settings.js";

/** The longest file, in decoded audio. */
export const MAX_FILE_SECONDS = 2 * 3_600;

/** Three engines that load their models when they are needed, and what stands before them. */
export interface Engines {
  readonly live: ResidentModel<LiveEngine>;
  readonly transcription: ResidentModel<TranscriptionEngine>;
  /** Stands before the transcription engine, so that it takes files of any container. */
  readonly decoder: AudioDecoder;
  readonly synthesis: ResidentModel<SynthesisEngine>;
  readonly recognizer: PackageFolder<RecognizerManifest>;
  readonly synthesizer: SynthesizerManifest;
  /** Where the package of the synthesizer lies. */
  readonly synthesizerFolder: string;
}

export interface EngineParts {
  readonly config: Config;
  readonly log: Log;
  readonly entries: WorkerEntries;
  /** Where the audio of a file lies while it is transcribed. */
  readonly spoolFolder: string;
  readonly room: SpoolRoom;
  readonly packages: readonly PackageFolder[];
  /** Which of them requests without a model get. */
  readonly defaults: Defaults;
  readonly folders: ModelFolders;
  readonly metrics: Metrics;
}

/** Engines that are not started yet. @throws {ServiceError} `MODEL_BROKEN` when a model is missing */
export function makeEngines(parts: EngineParts): Engines {
  const { log } = parts;
  const recognizer = packageFor<RecognizerManifest>(parts, "transcription");
  const synthesizer = packageFor<SynthesizerManifest>(parts, "synthesis");
  return {
    recognizer,
    synthesizer: synthesizer.manifest,
    synthesizerFolder: synthesizer.folder,
    live: resident("live", parts, () => liveEngine(parts, recognizer)),
    transcription: resident("transcription", parts, () => transcriptionEngine(parts, recognizer)),
    decoder: openDecoder({ searchPath: process.env["PATH"] ?? "", maxSeconds: MAX_FILE_SECONDS, log }),
    synthesis: resident("synthesis", parts, () => synthesisEngine(parts, synthesizer)),
  };
}

/** An engine that has lost all its workers refuses every request. */
export function isGivenUp({ live, synthesis }: Engines): boolean {
  return live.warmEngine?.isGivenUp === true || synthesis.warmEngine?.isGivenUp === true;
}

/** What each engine is doing, for the console to show. */
export function engineStatuses(engines: Engines): readonly EngineStatus[] {
  const { recognizer, synthesizer, live, transcription, synthesis } = engines;
  const of = (kind: UsageKind, model: string, resident: ResidentModel<Engine & { isGivenUp?: boolean }>) => ({
    kind,
    model,
    state: resident.warmEngine?.isGivenUp === true ? ("down" as const) : STATES[resident.phase],
    loadMs: resident.lastLoadMs,
  });
  return [
    of("synthesis", synthesizer.id, synthesis),
    of("file", recognizer.manifest.id, transcription),
    of("live", recognizer.manifest.id, live),
  ];
}

/** Memory on its way back is as good as given back: the next request loads the model. */
const STATES: Readonly<Record<ResidentModel<Engine>["phase"], EngineState>> = {
  cold: "cold",
  loading: "loading",
  warm: "warm",
  releasing: "cold",
  stopped: "stopping",
};

function resident<E extends Engine>(
  name: string,
  { config, metrics, log }: EngineParts,
  makeEngine: () => E,
): ResidentModel<E> {
  const { modelIdleMs: idleMs } = config;
  const observer = metrics.observeModel(name);
  return new ResidentModel({ name, makeEngine, idleMs, observer, clock: systemClock, log });
}

function liveEngine(parts: EngineParts, { folder, manifest }: PackageFolder<RecognizerManifest>): LiveEngine {
  const { config, metrics, log } = parts;
  const settings = workerSettings(parts, folder);
  return new LiveEngine({
    workerCount: config.liveWorkers,
    startWorker: (cells, onMessage) => startLiveWorker(settings, cells, onMessage),
    contextSamples: manifest.contextFrames * manifest.frameSamples,
    sampleRateHz: manifest.sampleRateHz,
    clock: systemClock,
    log,
    observer: liveObserver(metrics),
  });
}

function transcriptionEngine(
  parts: EngineParts,
  { folder, manifest }: PackageFolder<RecognizerManifest>,
): TranscriptionEngine {
  const { config, spoolFolder, room, log } = parts;
  return new TranscriptionEngine({
    pool: startFilePool({ ...workerSettings(parts, folder), workerCount: config.fileWorkers }),
    modelId: manifest.id,
    sampleRateHz: manifest.sampleRateHz,
    spoolFolder,
    room,
    maxSeconds: MAX_FILE_SECONDS,
    log,
  });
}

function synthesisEngine(
  parts: EngineParts,
  { folder }: PackageFolder<SynthesizerManifest>,
): SynthesisEngine {
  const { config, metrics, log } = parts;
  const settings = { ...workerSettings(parts, folder), rows: config.synthesisRows };
  return new SynthesisEngine({
    workerCount: config.synthesisWorkers,
    startWorker: (shared, onMessage) => startSynthesisWorker(settings, shared, onMessage),
    sampleRateHz: SPEECH_RATE_HZ,
    observer: metrics.observeSynthesis,
    clock: systemClock,
    log,
  });
}

function workerSettings({ config, entries }: EngineParts, modelFolder: string) {
  return { modelFolder, intraOpThreads: config.ortThreads, entries };
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

function packageFor<M extends ModelManifest>(
  { packages, defaults, folders }: EngineParts,
  task: M["task"],
): PackageFolder<M> {
  const found = chooseDefault<M>(packages, task, { defaults, folder: folders.install });
  if (found !== null) return found;
  const places = folders.read.join(" or ");
  throw new ServiceError("MODEL_BROKEN", `Cannot start: no model package for ${task} in ${places}`);
}
