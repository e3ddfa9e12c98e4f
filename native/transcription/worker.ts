import { threadId, workerData } from "node:worker_threads";
import type { UnpackedPlace } from "../../core/domain/decoding/unpacked-place.js";
import type { BatchRows } from "../../core/domain/placement/batch-rows.js";
import { preparesShapes } from "../../core/domain/placement/provider.js";
import type { RecognizerManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import type { SharedPlacement } from "../models/placement.js";
import { loadRecognizer, type Recognizer } from "../recognition/load-recognizer.js";
import { failureOf } from "../threads/failures.js";
import { NICENESS, takeNiceness } from "../threads/niceness.js";
import type { FileAnswer, FileTask } from "../threads/protocol.js";
import { performTask, type TaskOptions } from "./perform.js";
import { awaitOtherWorkers } from "./task-cell.js";

const options = workerData as {
  readonly model: ModelPackage<RecognizerManifest>;
  readonly intraOpThreads: number;
  readonly placement: SharedPlacement;
  readonly runTimes?: SharedArrayBuffer | undefined;
  readonly rows: BatchRows;
  readonly unpacked?: UnpackedPlace | undefined;
};
const taskOptions: TaskOptions = {
  rows: options.rows,
  shapes: preparesShapes(options.placement.provider) ? "every shape" : "usual shapes",
};
let recognizer: Promise<Recognizer> | undefined;
takeNiceness(NICENESS.transcription);

/** The pool's entry: one task at a time on each worker. Expected failures are values, since classes do not travel. */
export default async function runTask(task: FileTask): Promise<FileAnswer<unknown>> {
  if (task.type === "release") return release(task);
  try {
    recognizer ??= loadRecognizer({ ...options, placement: { ...options.placement, thread: threadId } });
    return { ok: true, value: await performTask(task, await recognizer, taskOptions) };
  } catch (error) {
    const { code, message, provider } = failureOf(error);
    return { ok: false, code, message, ...(provider !== null && { provider }) };
  }
}

/** A worker whose models were not loaded, or could not be, has nothing to release but lets the others go. */
async function release(task: Extract<FileTask, { type: "release" }>): Promise<FileAnswer<unknown>> {
  const loaded = await recognizer?.catch(() => undefined);
  recognizer = undefined;
  if (loaded !== undefined) return { ok: true, value: await performTask(task, loaded) };
  awaitOtherWorkers(new Int32Array(task.cell), task.workerCount);
  return { ok: true, value: threadId };
}
