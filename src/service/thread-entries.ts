import { WORKER_ENTRIES, type WorkerEntries } from "../../native/start-workers.js";
import { FRONT_THREAD_ENTRY } from "../front/threads/threaded-front.js";

/** Compiled entries of the threads that a service starts. */
export interface ThreadEntries extends WorkerEntries {
  readonly front: URL;
}

export const THREAD_ENTRIES: ThreadEntries = { ...WORKER_ENTRIES, front: FRONT_THREAD_ENTRY };
