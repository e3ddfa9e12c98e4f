import { ServiceError } from "../../core/domain/errors.js";

/** What the cell of a file task says to its workers, who look between two runs. */
export const FILE_TASK_CELL = { goOn: 0, giveUp: 1 } as const;

/** Int32 cells that workers share while they warm up: how many are warm, and whether one has failed. */
export const WARM_UP_CELL = { warm: 0, failed: 1, count: 2 } as const;

/** Blocks a warm worker until all of `workerCount` are, or one has failed: else a quick one would take another's task. */
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

/** Lets workers go on that wait for one that will never be warm. */
export function releaseWarmWorkers(cell: Int32Array): void {
  Atomics.store(cell, WARM_UP_CELL.failed, 1);
  // A worker may be between its look at `failed` and its wait: another count ends the wait before it begins.
  Atomics.add(cell, WARM_UP_CELL.warm, 1);
  Atomics.notify(cell, WARM_UP_CELL.warm);
}

/** @throws {ServiceError} `CANCELLED` when the task is given up */
export function obeyCell(cell: Int32Array): void {
  if (Atomics.load(cell, 0) === FILE_TASK_CELL.goOn) return;
  throw new ServiceError("CANCELLED", "transcription was cancelled");
}
