import { parentPort, threadId, workerData } from "node:worker_threads";
import type { SharedPlacement } from "../models/placement.js";
import { probeProvider } from "../models/probe.js";

/** What is wrong with each place that was asked for, in their order; null of one that works. */
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
