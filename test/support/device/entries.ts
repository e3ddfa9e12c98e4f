import type { WorkerEntries } from "../../../native/start-workers.js";

/** Entries of workers for which CUDA is pretended, and gone when `FaultOrders` says so. */
export const DEVICE_ENTRIES: WorkerEntries = {
  live: new URL("./live-worker.js", import.meta.url),
  synthesis: new URL("./synthesis-worker.js", import.meta.url),
  transcription: new URL("./transcription-worker.js", import.meta.url),
};
