import { LRUCache } from "lru-cache";
import type { Punctuation } from "../../core/domain/text/display/marks.js";
import {
  isPunctuated,
  type Reading,
  type ReadingTask,
  readWords,
} from "../../core/domain/text/display/reading.js";
import { punctuationFamilyOf } from "../models/families.js";
import type { PunctuationManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import { Punctuator } from "../models/punctuation/punctuator.js";
import type { PunctuationModel } from "../models/punctuation-model.js";
import { endAfterMicrotasks } from "../threads/uncaught-errors.js";

/** A text to read, with the number under which it grew, or a stretch of one that grows. */
export type ReadingWork =
  | { readonly task: ReadingTask; readonly text: number | null }
  | { readonly stretch: TextStretch };

/** Work with its model, which is the same in all tasks of a thread. */
export type ThreadTask = ReadingWork & {
  /** Null for the shipped model. */
  readonly model: ModelPackage<PunctuationManifest> | null;
};

/** Words of a growing text, by their number among its stretches (`text-windows.ts`). */
export interface TextStretch {
  readonly text: number;
  readonly nth: number;
  readonly words: readonly string[];
  readonly pauses: Float32Array;
}

/** Growing texts that are kept. More than that are read again when they are complete. */
const KEPT_TEXTS = 200;

let loading: Promise<PunctuationModel> | null = null;
/** Stretches of growing texts that have been read. */
const begun = new LRUCache<number, Punctuation[]>({ max: KEPT_TEXTS });
endAfterMicrotasks();

export default async function run({ model, ...work }: ThreadTask): Promise<Reading | null> {
  if ("stretch" in work) {
    loading ??= load(model);
    await readAhead(await loading, work.stretch);
    return null;
  }
  const { task, text } = work;
  const stretches = text === null ? [] : (begun.get(text) ?? []);
  if (text !== null) begun.delete(text);
  if (!isPunctuated(task)) return readWords(task, null);
  loading ??= load(model);
  return readWords(task, await (await loading).read(task.words, task.pauses, stretches));
}

async function readAhead(model: PunctuationModel, { text, nth, words, pauses }: TextStretch): Promise<void> {
  const read = await model.readStretch?.(words, pauses);
  if (read === undefined) return;
  const stretches = begun.get(text) ?? [];
  stretches[nth] = read;
  begun.set(text, stretches);
}

function load(model: ThreadTask["model"]): Promise<PunctuationModel> {
  if (model === null) return Punctuator.load();
  return punctuationFamilyOf(model.manifest).load(model, { intraOpThreads: 1 });
}
