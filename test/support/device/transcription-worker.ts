// The file workers' entry on a device that is pretended: gone when a test has ordered it before a task.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FileAnswer, FileTask } from "../../../native/threads/protocol.js";
import runTask from "../../../native/transcription/worker.js";
import { onOrder } from "../faulty/orders.js";
import { pretendCuda, setDeviceFault } from "./pretended.js";

pretendCuda();
onOrder("transcription", () => setDeviceFault("gone"));

export default async function runTaskOnDevice(task: FileTask): Promise<FileAnswer<unknown>> {
  // An idle thread of the pool hears nothing until its next task.
  for (let turn = 0; turn < 2; turn++) await nextTurn();
  return runTask(task);
}
