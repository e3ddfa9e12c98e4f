import { threadId } from "node:worker_threads";
import type { Recognizer } from "../recognition/load-recognizer.js";
import type { FileTask } from "../threads/protocol.js";
import { decodePieces } from "./decode.js";
import { hearPart } from "./hear.js";
import { awaitOtherWorkers } from "./task-cell.js";

/** @returns the value of the task; of those that each worker has once its thread id */
export async function performTask(task: FileTask, loaded: Recognizer): Promise<unknown> {
  switch (task.type) {
    case "hear":
      return hearPart(task, loaded.model);
    case "decode":
      return decodePieces(task.pieces, loaded);
    case "warm-up":
      await loaded.utterances.decode(new Float32Array(loaded.model.manifest.sampleRateHz), {
        offsetSeconds: 0,
        speechMean: 1,
        hotWords: null,
      });
      awaitOtherWorkers(new Int32Array(task.cell), task.workerCount);
      return threadId;
    case "release":
      await loaded.model.release();
      awaitOtherWorkers(new Int32Array(task.cell), task.workerCount);
      return threadId;
  }
}
