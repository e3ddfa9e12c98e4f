import { threadId, workerData } from "node:worker_threads";
import { asServiceError } from "../../src/domain/errors.js";
import type { RecognizerManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import { loadRecognizer, type Recognizer } from "../recognition/load-recognizer.js";
import type { FileAnswer, FileTask } from "../threads/protocol.js";
import { decodePieces } from "./decode.js";
import { segmentFile } from "./segment.js";
import { awaitOtherWorkers } from "./task-cell.js";

const options = workerData as {
  readonly model: ModelPackage<RecognizerManifest>;
  readonly intraOpThreads: number;
};
let recognizer: Promise<Recognizer> | undefined;

/** The pool's entry: one task at a time on each worker. Expected failures are values, since classes do not travel. */
export default async function runTask(task: FileTask): Promise<FileAnswer<unknown>> {
  try {
    recognizer ??= loadRecognizer(options);
    return { ok: true, value: await perform(task, await recognizer) };
  } catch (error) {
    const { code, message } = asServiceError(error);
    return { ok: false, code, message };
  }
}

/** @returns the value of the task; of a warm-up the worker's thread id */
async function perform(task: FileTask, loaded: Recognizer): Promise<unknown> {
  switch (task.type) {
    case "segment":
      return segmentFile(task, loaded.model);
    case "decode":
      return decodePieces(task, loaded);
    case "warm-up":
      await loaded.utterances.decode(new Float32Array(loaded.model.manifest.sampleRateHz), {
        offsetSeconds: 0,
        speechMean: 1,
        hotWords: null,
      });
      awaitOtherWorkers(new Int32Array(task.cell), task.workerCount);
      return threadId;
  }
}
