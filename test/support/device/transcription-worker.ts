// The entry of file workers on a simulated device, which a test can make fail before a task.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FileAnswer, FileTask } from "../../../native/threads/protocol.js";
import runTask from "../../../native/transcription/worker.js";
import { onOrder } from "../faulty/orders.js";
import { setDeviceFault, simulateCuda } from "./simulated-cuda.js";

simulateCuda();
onOrder("transcription", () => setDeviceFault("lost"));

export default async function runTaskOnDevice(task: FileTask): Promise<FileAnswer<unknown>> {
  // An idle thread of the pool receives no messages until its next task.
  for (let turn = 0; turn < 2; turn++) await nextTurn();
  return runTask(task);
}
