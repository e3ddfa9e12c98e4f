import { type Reading, type ReadingTask, readWords } from "../../core/domain/text/display/reading.js";
import { Punctuator } from "../models/punctuation/punctuator.js";

const loading = Punctuator.load();

/** Runs one task of the reading thread. */
export default async function run(task: ReadingTask): Promise<Reading> {
  const isPunctuated = task.display && task.isWritten !== true;
  const punctuation = isPunctuated ? await (await loading).read(task.words, task.pauses) : null;
  return readWords(task, punctuation);
}
