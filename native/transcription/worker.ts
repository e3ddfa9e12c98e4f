import { workerData } from "node:worker_threads";
import { asServiceError } from "../../src/domain/errors.js";
import type { RecognizerManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import { loadRecognizer, type Recognizer } from "../recognition/load-recognizer.js";
import { NICENESS, takeNiceness } from "../threads/niceness.js";
import type { FileAnswer, FileTask } from "../threads/protocol.js";
import { performTask } from "./perform.js";

const options = workerData as {
  readonly model: ModelPackage<RecognizerManifest>;
  readonly intraOpThreads: number;
};
let recognizer: Promise<Recognizer> | undefined;
takeNiceness(NICENESS.transcription);

/** The pool's entry: one task at a time on each worker. Expected failures are values, since classes do not travel. */
export default async function runTask(task: FileTask): Promise<FileAnswer<unknown>> {
  try {
    recognizer ??= loadRecognizer(options);
    return { ok: true, value: await performTask(task, await recognizer) };
  } catch (error) {
    const { code, message } = asServiceError(error);
    return { ok: false, code, message };
  }
}
