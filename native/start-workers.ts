import "./models/no-telemetry.js";
import type { UnpackedPlace } from "../core/domain/decoding/unpacked-place.js";
import { type BatchRows, USUAL_ROWS } from "../core/domain/placement/batch-rows.js";
import type { Provider } from "../core/domain/placement/provider.js";
import { ProviderError } from "../core/domain/placement/provider-error.js";
import { readPackage } from "./models/find-packages.js";
import type { RecognizerManifest, SynthesizerManifest } from "./models/manifest.js";
import { onCpu, type Placing } from "./threads/placing.js";
import type {
  FromLiveWorker,
  FromSynthesisWorker,
  ToLiveWorker,
  ToSynthesisWorker,
  WorkerData,
  WorkerStatus,
} from "./threads/protocol.js";
import { PROTOCOL_VERSION } from "./threads/protocol.js";
import { WorkerHandle } from "./threads/worker-handle.js";

/**
 * Limit for loading and warm-up, which take about a second, but many times that on a machine under heavy
 * load.
 */
const READY_WITHIN_MS = 120_000;
/**
 * Limit on devices: drivers compile each kernel at its first run, and not all cache it for the next start.
 */
const READY_ON_DEVICE_WITHIN_MS = 600_000;
const STOP_WITHIN_MS = 10_000;

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
  /** Placement shared by all workers of an engine; on the CPU by default. */
  readonly placing?: Placing;
  /** Batch sizes per provider; by default those for a CPU. */
  readonly rowsOn?: (provider: Provider) => BatchRows;
  readonly runTimes?: SharedArrayBuffer;
  /** Where recognisers cache their unpacked language model; not cached by default. */
  readonly unpacked?: UnpackedPlace;
  /** `WORKER_ENTRIES` by default. */
  readonly entries?: WorkerEntries;
}

/** @throws {ServiceError} `MODEL_BROKEN`, or as `WorkerHandle.start` */
export async function startLiveWorker(
  settings: WorkerSettings,
  cells: SharedArrayBuffer,
  onMessage: (message: Exclude<FromLiveWorker, WorkerStatus>) => void,
  lane = 0,
): Promise<WorkerHandle<ToLiveWorker>> {
  const model = await readPackage<RecognizerManifest>(settings.modelFolder, "transcription");
  return startWorker("live", settings, { model, cells, pcm: null }, onMessage, lane);
}

/** @throws {ServiceError} `MODEL_BROKEN`, or as `WorkerHandle.start` */
export async function startSynthesisWorker(
  settings: WorkerSettings,
  shared: { readonly cells: SharedArrayBuffer; readonly pcm: SharedArrayBuffer },
  onMessage: (message: Exclude<FromSynthesisWorker, WorkerStatus>) => void,
  lane = 0,
): Promise<WorkerHandle<ToSynthesisWorker>> {
  const model = await readPackage<SynthesizerManifest>(settings.modelFolder, "synthesis");
  return startWorker("synthesis", settings, { model, ...shared }, onMessage, lane);
}

/** Returns the batch sizes for a device without measurements. */
export function usualRows(): BatchRows {
  return USUAL_ROWS;
}

/**
 * Starts a worker on the first provider of the engine's list that accepts its graphs.
 * @throws {ProviderError} of the last provider in the list, or as `WorkerHandle.start`
 */
async function startWorker<To, From extends { readonly type: string }>(
  engine: "live" | "synthesis",
  {
    modelFolder: _,
    entries = WORKER_ENTRIES,
    placing = onCpu(),
    rowsOn = usualRows,
    ...settings
  }: WorkerSettings,
  own: Pick<WorkerData, "model" | "cells" | "pcm">,
  onMessage: (message: Exclude<From, WorkerStatus>) => void,
  lane: number,
): Promise<WorkerHandle<To>> {
  for (;;) {
    const placement = placing.placementOf(lane);
    const rows = rowsOn(placement.provider);
    const data: WorkerData = { protocolVersion: PROTOCOL_VERSION, ...settings, ...own, placement, rows };
    try {
      const worker = await WorkerHandle.start<To, From>({
        name: `${engine}-worker`,
        entry: entries[engine],
        data,
        readyWithinMs: placement.provider === "cpu" ? READY_WITHIN_MS : READY_ON_DEVICE_WITHIN_MS,
        stopWithinMs: STOP_WITHIN_MS,
        onMessage,
        onExit: (thread) => placing.threadEnded(thread),
      });
      placing.served(placement);
      // Registered before the owner's listener, because that one starts another worker.
      void worker.ended.then((reason) => reason instanceof ProviderError && placing.failed(reason, "later"));
      return worker;
    } catch (error) {
      if (!(error instanceof ProviderError) || !placing.failed(error, "at load")) throw error;
    }
  }
}
