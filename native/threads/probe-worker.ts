import { parentPort, threadId, workerData } from "node:worker_threads";
import type { SharedPlacement } from "../models/placement.js";
import { probeProvider } from "../models/probe.js";

/** The error of each requested place, in order; null for one that works. */
export type ProbeAnswers = readonly (string | null)[];

const answers: (string | null)[] = [];
for (const placement of workerData as readonly SharedPlacement[]) {
  try {
    await probeProvider({ ...placement, thread: threadId });
    answers.push(null);
  } catch (error) {
    answers.push((error as Error).message);
  }
}
parentPort!.postMessage(answers satisfies ProbeAnswers);
