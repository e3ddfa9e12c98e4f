import { threadId, workerData } from "node:worker_threads";
import { preparesShapes } from "../../core/domain/placement/provider.js";
import type { DiarizationManifest, RecognizerManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import { loadRecognizer, type Recognizer } from "../recognition/load-recognizer.js";

import { NICENESS, takeNiceness } from "../threads/niceness.js";
import { type FileAnswer, type FileTask, failureOf, type WorkerData } from "../threads/protocol.js";
import { endAfterMicrotasks } from "../threads/uncaught-errors.js";
import { performTask, type TaskOptions } from "./perform.js";
import { SpeakerWorker } from "./speaker-worker.js";
import { awaitOtherWorkers } from "./task-cell.js";

const options = workerData as Omit<WorkerData<RecognizerManifest>, "protocolVersion" | "cells" | "pcm"> & {
  readonly diarization: ModelPackage<DiarizationManifest> | null;
};
const taskOptions: TaskOptions = {
  rows: options.rows,
  shapes: preparesShapes(options.placement.provider) ? "every shape" : "usual shapes",
  speakers: new SpeakerWorker(options.diarization, options),
};
let recognizer: Promise<Recognizer> | undefined;
endAfterMicrotasks();
takeNiceness(NICENESS.transcription);

/** The pool's entry: runs one task at a time. Failures are values, since classes cannot be posted. */
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

/** Releases the model if it was loaded, and counts this worker for the others that wait. */
async function release(task: Extract<FileTask, { type: "release" }>): Promise<FileAnswer<unknown>> {
  const loaded = await recognizer?.catch(() => undefined);
  recognizer = undefined;
  if (loaded !== undefined) return { ok: true, value: await performTask(task, loaded) };
  awaitOtherWorkers(new Int32Array(task.cell), task.workerCount);
  return { ok: true, value: threadId };
}
