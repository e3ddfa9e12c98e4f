import { type Reading, type ReadingTask, readWords } from "../../core/domain/text/display/reading.js";
import { punctuationFamilyOf } from "../models/families.js";
import type { PunctuationManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import { Punctuator } from "../models/punctuation/punctuator.js";
import type { PunctuationModel } from "../models/punctuation-model.js";
import { endAfterMicrotasks } from "../threads/uncaught-errors.js";

/** A text to read, with its model, which is the same in all tasks of a thread. */
export interface ThreadTask {
  readonly task: ReadingTask;
  /** Null for the shipped model. */
  readonly model: ModelPackage<PunctuationManifest> | null;
}

let loading: Promise<PunctuationModel> | null = null;
endAfterMicrotasks();

export default async function run({ task, model }: ThreadTask): Promise<Reading> {
  const isPunctuated = task.display && task.isWritten !== true;
  loading ??= load(model);
  const punctuation = isPunctuated ? await (await loading).read(task.words, task.pauses) : null;
  return readWords(task, punctuation);
}

function load(model: ThreadTask["model"]): Promise<PunctuationModel> {
  if (model === null) return Punctuator.load();
  return punctuationFamilyOf(model.manifest).load(model, { intraOpThreads: 1 });
}
