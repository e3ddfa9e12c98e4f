import { fileURLToPath } from "node:url";
import type { WorkerEntries } from "../../../native/start-workers.js";

/** Entries of workers for which CUDA is pretended; it, and WebGPU too, are gone when `FaultOrders` says so. */
export const DEVICE_ENTRIES: WorkerEntries = {
  live: new URL("./live-worker.js", import.meta.url),
  synthesis: new URL("./synthesis-worker.js", import.meta.url),
  transcription: new URL("./transcription-worker.js", import.meta.url),
};

/** The program that runs the service with them; see `startServiceProcess`. */
export const DEVICE_MAIN = fileURLToPath(new URL("./main.js", import.meta.url));

/** NODE_OPTIONS of a process whose machine pretends to have CUDA, also when the service looks for it. */
export const PRETENDING = `--import=${new URL("./pretend-everywhere.js", import.meta.url).href}`;
