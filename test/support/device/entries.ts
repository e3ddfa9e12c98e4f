import { fileURLToPath } from "node:url";
import type { WorkerEntries } from "../../../native/start-workers.js";

/** Worker entries with simulated CUDA. CUDA and WebGPU are lost when `FaultOrders` requests it. */
export const DEVICE_ENTRIES: WorkerEntries = {
  live: new URL("./live-worker.js", import.meta.url),
  synthesis: new URL("./synthesis-worker.js", import.meta.url),
  transcription: new URL("./transcription-worker.js", import.meta.url),
};

/** The program that runs the service with these workers; see `startServiceProcess`. */
export const DEVICE_MAIN = fileURLToPath(new URL("./main.js", import.meta.url));

/** The NODE_OPTIONS of a process with simulated CUDA, which also apply when the service probes devices. */
export const SIMULATED_CUDA = `--import=${new URL("./simulate-in-workers.js", import.meta.url).href}`;
