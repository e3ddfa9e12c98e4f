import { LiveEngine, type LiveEngineOptions } from "../../actors/live/engine.js";
import { SynthesisEngine, type SynthesisEngineOptions } from "../../actors/synthesis/engine.js";
import { TranscriptionEngine, type TranscriptionEngineOptions } from "../../actors/transcription/engine.js";
import type { FilePool } from "../../actors/transcription/file-queue.js";
import { UNPACKED } from "../../bench/support/unpacked.js";
import { systemClock } from "../../core/ports/clock.js";
import { startFilePool } from "../../native/file-pool.js";
import { readManifest } from "../../native/models/find-packages.js";
import type { RecognizerManifest, SynthesizerManifest } from "../../native/models/manifest.js";
import { startLiveWorker, startSynthesisWorker, type WorkerSettings } from "../../native/start-workers.js";
import { FAULTY_ENTRIES } from "./faulty/entries.js";
import { RECOGNIZER_FOLDER, SYNTHESIZER_FOLDER } from "./folders.js";
import { SILENT } from "./silent-log.js";

/** Workers of the shipped recognizer that obey `FaultOrders`. */
export const RECOGNIZER: WorkerSettings = {
  modelFolder: RECOGNIZER_FOLDER,
  intraOpThreads: 1,
  unpacked: UNPACKED,
  entries: FAULTY_ENTRIES,
};
/** Workers of the shipped synthesizer that obey `FaultOrders`. */
export const SYNTHESIZER: WorkerSettings = { ...RECOGNIZER, modelFolder: SYNTHESIZER_FOLDER };

/** Returns a live engine with one real worker, not started. */
export async function liveEngine(changes: Partial<LiveEngineOptions> = {}): Promise<LiveEngine> {
  const manifest = (await readManifest(RECOGNIZER_FOLDER)) as RecognizerManifest;
  return new LiveEngine({
    workerCount: 1,
    startWorker: (cells, onMessage) => startLiveWorker(RECOGNIZER, cells, onMessage),
    contextSamples: manifest.contextFrames * manifest.frameSamples,
    sampleRateHz: manifest.sampleRateHz,
    clock: systemClock,
    log: SILENT,
    ...changes,
  });
}

/** Returns a synthesis engine with one real worker, not started. */
export async function synthesisEngine(
  changes: Partial<SynthesisEngineOptions> = {},
): Promise<SynthesisEngine> {
  const manifest = (await readManifest(SYNTHESIZER_FOLDER)) as SynthesizerManifest;
  return new SynthesisEngine({
    workerCount: 1,
    startWorker: (shared, onMessage) => startSynthesisWorker(SYNTHESIZER, shared, onMessage),
    sampleRateHz: manifest.sampleRateHz,
    clock: systemClock,
    log: SILENT,
    ...changes,
  });
}

/** Starts real file workers. */
export function filePool(workerCount = 1): FilePool {
  return startFilePool({ ...RECOGNIZER, workerCount });
}

/** Returns a transcription engine on `pool`. */
export function transcriptionEngine(
  pool: FilePool,
  changes: Partial<TranscriptionEngineOptions> = {},
): TranscriptionEngine {
  return new TranscriptionEngine({
    pool,
    modelId: "svc-kk-ru-v2",
    sampleRateHz: 16_000,
    frameSamples: 640,
    forgets: true,
    maxSeconds: 7_200,
    log: SILENT,
    ...changes,
  });
}
