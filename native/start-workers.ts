import "./models/no-telemetry.js";
import { Piscina } from "piscina";
import { asServiceError } from "../src/domain/errors.js";
import { readPackage } from "./models/find-packages.js";
import type { RecognizerManifest, SynthesizerManifest } from "./models/manifest.js";
import type {
  FileAnswer,
  FileTask,
  FromLiveWorker,
  FromSynthesisWorker,
  ToLiveWorker,
  ToSynthesisWorker,
  WorkerData,
  WorkerStatus,
} from "./threads/protocol.js";
import { PROTOCOL_VERSION } from "./threads/protocol.js";
import { WorkerHandle } from "./threads/worker-handle.js";

/** Loading and warming up takes about a second; a machine under heavy load may take many times that. */
const READY_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 10_000;
const TASK_QUEUE_CAPACITY = 10_000;

/** Compiled entries of the worker threads. */
export interface WorkerEntries {
  readonly live: URL;
  readonly synthesis: URL;
  readonly transcription: URL;
}

export const WORKER_ENTRIES: WorkerEntries = {
  live: new URL("./live/worker.js", import.meta.url),
  synthesis: new URL("./synthesis/worker.js", import.meta.url),
  transcription: new URL("./transcription/worker.js", import.meta.url),
};

export interface WorkerSettings {
  readonly modelFolder: string;
  readonly intraOpThreads: number;
  /** `WORKER_ENTRIES` when absent. */
  readonly entries?: WorkerEntries;
}

export interface SynthesisWorkerSettings extends WorkerSettings {
  /** Pieces that may share a run. */
  readonly rows: number;
}

/** @throws {ServiceError} `MODEL_BROKEN`; else as `WorkerHandle.start` */
export async function startLiveWorker(
  { modelFolder, entries = WORKER_ENTRIES, ...settings }: WorkerSettings,
  cells: SharedArrayBuffer,
  onMessage: (message: Exclude<FromLiveWorker, WorkerStatus>) => void,
): Promise<WorkerHandle<ToLiveWorker>> {
  const model = await readPackage<RecognizerManifest>(modelFolder, "transcription");
  return WorkerHandle.start<ToLiveWorker, FromLiveWorker>({
    name: "live-worker",
    entry: entries.live,
    data: {
      protocolVersion: PROTOCOL_VERSION,
      ...settings,
      model,
      cells,
      pcm: null,
      rows: 1,
    } satisfies WorkerData,
    readyWithinMs: READY_WITHIN_MS,
    stopWithinMs: STOP_WITHIN_MS,
    onMessage,
  });
}

/** @throws {ServiceError} `MODEL_BROKEN`; else as `WorkerHandle.start` */
export async function startSynthesisWorker(
  { modelFolder, entries = WORKER_ENTRIES, ...settings }: SynthesisWorkerSettings,
  shared: { readonly cells: SharedArrayBuffer; readonly pcm: SharedArrayBuffer },
  onMessage: (message: Exclude<FromSynthesisWorker, WorkerStatus>) => void,
): Promise<WorkerHandle<ToSynthesisWorker>> {
  const model = await readPackage<SynthesizerManifest>(modelFolder, "synthesis");
  return WorkerHandle.start<ToSynthesisWorker, FromSynthesisWorker>({
    name: "synthesis-worker",
    entry: entries.synthesis,
    data: { protocolVersion: PROTOCOL_VERSION, ...settings, model, ...shared } satisfies WorkerData,
    readyWithinMs: READY_WITHIN_MS,
    stopWithinMs: STOP_WITHIN_MS,
    onMessage,
  });
}

/** The pool that transcribes files. `close` waits for running tasks: a thread inside onnxruntime must not be killed. */
export function startFilePool(settings: WorkerSettings & { readonly workerCount: number }): {
  readonly workerCount: number;
  run(task: FileTask): Promise<unknown>;
  close(): Promise<void>;
} {
  const opening = openFilePool(settings);
  // Told with every task.
  opening.catch(() => {});
  return {
    workerCount: settings.workerCount,
    run: async (task) => {
      let pool: Piscina;
      try {
        pool = await opening;
      } catch (error) {
        const { code, message } = asServiceError(error);
        return { ok: false, code, message } satisfies FileAnswer<unknown>;
      }
      return pool.run(task);
    },
    close: async () => (await opening.catch(() => null))?.close(),
  };
}

async function openFilePool({
  modelFolder,
  intraOpThreads,
  workerCount,
  entries = WORKER_ENTRIES,
}: WorkerSettings & { readonly workerCount: number }): Promise<Piscina> {
  const model = await readPackage<RecognizerManifest>(modelFolder, "transcription");
  return new Piscina({
    filename: entries.transcription.href,
    workerData: { model, intraOpThreads },
    minThreads: workerCount,
    maxThreads: workerCount,
    concurrentTasksPerWorker: 1,
    maxQueue: TASK_QUEUE_CAPACITY,
    // Closing waits for the tasks in flight as long as they take; they see the cancel cell between two pieces.
    closeTimeout: 600_000,
  });
}
