import { ServiceError } from "../../core/domain/errors.js";

/** Values of a file's cell, which its workers check between two runs. */
export const FILE_TASK_CELL = { goOn: 0, giveUp: 1 } as const;

/** Int32 cells shared by workers during warm-up: the number of warm workers, and a flag for a failed one. */
export const WARM_UP_CELL = { warm: 0, failed: 1, count: 2 } as const;

/**
 * Blocks until all workers are warm or one has failed, because a fast worker must not take another's task.
 */
export function awaitOtherWorkers(cell: Int32Array, workerCount: number): void {
  const { warm, failed } = WARM_UP_CELL;
  Atomics.add(cell, warm, 1);
  Atomics.notify(cell, warm);
  for (;;) {
    const warmCount = Atomics.load(cell, warm);
    if (warmCount >= workerCount || Atomics.load(cell, failed) !== 0) return;
    Atomics.wait(cell, warm, warmCount);
  }
}

/** Unblocks workers that wait for a failed one. */
export function releaseWarmWorkers(cell: Int32Array): void {
  Atomics.store(cell, WARM_UP_CELL.failed, 1);
  // A worker may be between its check of `failed` and its wait: the new count keeps it from waiting.
  Atomics.add(cell, WARM_UP_CELL.warm, 1);
  Atomics.notify(cell, WARM_UP_CELL.warm);
}

/** @throws {ServiceError} `CANCELLED` if the task was cancelled */
export function obeyCell(cell: Int32Array): void {
  if (Atomics.load(cell, 0) === FILE_TASK_CELL.goOn) return;
  throw new ServiceError("CANCELLED", "transcription was cancelled");
}
