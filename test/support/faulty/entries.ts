import { fileURLToPath } from "node:url";
import type { ThreadEntries } from "../../../src/service/base.js";

/** The entries of threads that fail when `FaultOrders` requests it. */
export const FAULTY_ENTRIES: ThreadEntries = {
  live: new URL("./live-worker.js", import.meta.url),
  synthesis: new URL("./synthesis-worker.js", import.meta.url),
  transcription: new URL("./transcription-worker.js", import.meta.url),
  front: new URL("./front-thread.js", import.meta.url),
};

/** The program that runs the service with these threads; see `startServiceProcess`. */
export const FAULTY_MAIN = fileURLToPath(new URL("./main.js", import.meta.url));
