import { threadId } from "node:worker_threads";
import { type BatchRows, USUAL_ROWS } from "../../core/domain/placement/batch-rows.js";
import type { Recognizer } from "../recognition/load-recognizer.js";
import { warmUpRefining } from "../recognition/warm-up.js";
import type { FileTask } from "../threads/protocol.js";
import { decodePieces } from "./decode.js";
import { hearPart } from "./hear.js";
import { SpeakerWorker } from "./speaker-worker.js";
import { awaitOtherWorkers } from "./task-cell.js";

export interface TaskOptions {
  readonly rows: Pick<BatchRows, "fileRows" | "hearFrames">;
  /** Shapes to run for warm-up, because devices compile each shape. */
  readonly shapes: "usual shapes" | "every shape";
  readonly speakers: Pick<SpeakerWorker, "perform">;
}

const USUAL: TaskOptions = {
  rows: USUAL_ROWS,
  shapes: "usual shapes",
  speakers: new SpeakerWorker(null, { intraOpThreads: 1 }),
};

/**
 * Frames per run of a file that makes way for others, 1 s: they wait 2 ms instead of 5. Its runs take half as
 * much time again.
 */
const LATER_FRAMES = 25;

function hearFrames(
  { isLater = false }: Extract<FileTask, { type: "hear" }>,
  { rows, shapes }: Pick<TaskOptions, "rows" | "shapes">,
): number {
  // Devices compile each shape.
  return isLater && shapes === "usual shapes" ? Math.min(LATER_FRAMES, rows.hearFrames) : rows.hearFrames;
}

/** Runs a task. @returns its value, or the thread id for tasks that each worker runs once */
export async function performTask(
  task: FileTask,
  loaded: Recognizer,
  { rows, shapes, speakers }: TaskOptions = USUAL,
): Promise<unknown> {
  switch (task.type) {
    case "hear":
      return hearPart(task, loaded.model, hearFrames(task, { rows, shapes }));
    case "decode":
      return decodePieces(task.pieces, loaded, rows.fileRows);
    case "hear-speakers":
    case "group-speakers":
      return speakers.perform(task);
    case "warm-up":
      await loaded.utterances.decode(new Float32Array(loaded.model.manifest.sampleRateHz), {
        offsetSeconds: 0,
        speechMean: 1,
        hotWords: null,
      });
      if (shapes === "every shape") {
        await loaded.model.speechBatch(1, rows.hearFrames).run();
        await warmUpRefining(loaded.model, rows.fileRows);
      }
      awaitOtherWorkers(new Int32Array(task.cell), task.workerCount);
      return threadId;
    case "release":
      await loaded.model.release();
      awaitOtherWorkers(new Int32Array(task.cell), task.workerCount);
      return threadId;
  }
}
