import { ServiceError } from "../../src/domain/errors.js";

/** What the cell of a file task says to its workers, who look between two runs. */
export const FILE_TASK_CELL = { goOn: 0, giveUp: 1, fault: 2 } as const;

/**
 * Goes on, gives up, or, for fault tests, fails the whole thread by an error that no code of ours would catch; the task may
 * then be done again.
 * @throws {ServiceError} `CANCELLED`
 */
export async function obeyCell(cell: Int32Array): Promise<void> {
  const { goOn, giveUp, fault } = FILE_TASK_CELL;
  const said = Atomics.load(cell, 0);
  if (said === goOn) return;
  if (said === giveUp) throw new ServiceError("CANCELLED", "transcription was cancelled");
  // Several workers share the cell of a file: one of them fails.
  if (Atomics.compareExchange(cell, 0, fault, goOn) !== fault) return;
  setImmediate(() => {
    throw new Error("fault injected by a test");
  });
  await new Promise<never>(() => {});
}
