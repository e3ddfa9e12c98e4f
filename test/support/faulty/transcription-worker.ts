// The entry of file workers. A task ends its thread if a test has ordered a fault.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FileAnswer, FileTask } from "../../../native/threads/protocol.js";
import runTask from "../../../native/transcription/worker.js";
import { failThread, onOrder } from "./orders.js";

let isWorking = false;

onOrder("transcription", () => {
  if (isWorking) setImmediate(failThread);
});

export default async function runFaultyTask(task: FileTask): Promise<FileAnswer<unknown>> {
  // An idle thread of the pool receives no messages until its next task, so older orders are not meant for
  // this task.
  for (let turn = 0; turn < 2; turn++) await nextTurn();
  isWorking = true;
  try {
    return await runTask(task);
  } finally {
    isWorking = false;
  }
}
