import "./models/no-telemetry.js";
import type { UnpackedPlace } from "../core/domain/decoding/unpacked-place.js";
import { type BatchRows, USUAL_ROWS } from "../core/domain/placement/batch-rows.js";
import type { Provider } from "../core/domain/placement/provider.js";
import { ProviderError } from "../core/domain/placement/provider-error.js";
import { readPackage } from "./models/find-packages.js";
import type { RecognizerManifest, SynthesizerManifest } from "./models/manifest.js";
import type { SharedPlacement } from "./models/placement.js";
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

/** Loading and warming up takes about a second; a machine under heavy load may take many times that. */
const READY_WITHIN_MS = 120_000;
/** Drivers compile each kernel at its first run, which a machine keeps for the next start or does not. */
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
  /** Where its graphs run, the same of all workers of an engine; on the CPU when absent. */
  readonly placing?: Placing;
  /** How many rows share runs on a provider's device; as on the CPU when absent. */
  readonly rowsOn?: (provider: Provider) => BatchRows;
  /** See `RunTimes`; nothing is timed when absent. */
  readonly runTimes?: SharedArrayBuffer;
  /** Where recognisers keep their unpacked language model; nowhere when absent. */
  readonly unpacked?: UnpackedPlace;
  /** `WORKER_ENTRIES` when absent. */
  readonly entries?: WorkerEntries;
}

/** @throws {ServiceError} `MODEL_BROKEN`; else as `WorkerHandle.start` */
export async function startLiveWorker(
  {
    modelFolder,
    entries = WORKER_ENTRIES,
    placing = onCpu(),
    rowsOn = usualRows,
    ...settings
  }: WorkerSettings,
  cells: SharedArrayBuffer,
  onMessage: (message: Exclude<FromLiveWorker, WorkerStatus>) => void,
  lane = 0,
): Promise<WorkerHandle<ToLiveWorker>> {
  const model = await readPackage<RecognizerManifest>(modelFolder, "transcription");
  const data = { protocolVersion: PROTOCOL_VERSION, ...settings, model, cells, pcm: null } as const;
  return startPlaced({ placing, lane }, (placement) =>
    WorkerHandle.start<ToLiveWorker, FromLiveWorker>({
      name: "live-worker",
      entry: entries.live,
      data: { ...data, placement, rows: rowsOn(placement.provider) } satisfies WorkerData,
      ...limitsOn(placement),
      onMessage,
      onExit: (thread) => placing.threadEnded(thread),
    }),
  );
}

/** @throws {ServiceError} `MODEL_BROKEN`; else as `WorkerHandle.start` */
export async function startSynthesisWorker(
  {
    modelFolder,
    entries = WORKER_ENTRIES,
    placing = onCpu(),
    rowsOn = usualRows,
    ...settings
  }: WorkerSettings,
  shared: { readonly cells: SharedArrayBuffer; readonly pcm: SharedArrayBuffer },
  onMessage: (message: Exclude<FromSynthesisWorker, WorkerStatus>) => void,
  lane = 0,
): Promise<WorkerHandle<ToSynthesisWorker>> {
  const model = await readPackage<SynthesizerManifest>(modelFolder, "synthesis");
  const data = { protocolVersion: PROTOCOL_VERSION, ...settings, model, ...shared } as const;
  return startPlaced({ placing, lane }, (placement) =>
    WorkerHandle.start<ToSynthesisWorker, FromSynthesisWorker>({
      name: "synthesis-worker",
      entry: entries.synthesis,
      data: { ...data, placement, rows: rowsOn(placement.provider) } satisfies WorkerData,
      ...limitsOn(placement),
      onMessage,
      onExit: (thread) => placing.threadEnded(thread),
    }),
  );
}

function limitsOn({ provider }: SharedPlacement) {
  const readyWithinMs = provider === "cpu" ? READY_WITHIN_MS : READY_ON_DEVICE_WITHIN_MS;
  return { readyWithinMs, stopWithinMs: STOP_WITHIN_MS };
}

/** Of a device of which nothing was measured. */
export function usualRows(): BatchRows {
  return USUAL_ROWS;
}

/**
 * Starts a worker where its engine's graphs run: a provider that does not take them is passed by, if another is in the list.
 * @throws {ProviderError} of the last provider in the list; what else `start` throws
 */
async function startPlaced<To>(
  { placing, lane }: { readonly placing: Placing; readonly lane: number },
  start: (placement: SharedPlacement) => Promise<WorkerHandle<To>>,
): Promise<WorkerHandle<To>> {
  for (;;) {
    const placement = placing.placementOf(lane);
    try {
      const worker = await start(placement);
      placing.served(placement);
      // Before its owner hears of it, who starts another one.
      void worker.ended.then((reason) => reason instanceof ProviderError && placing.failed(reason, "later"));
      return worker;
    } catch (error) {
      if (!(error instanceof ProviderError) || !placing.failed(error, "at load")) throw error;
    }
  }
}
