/** What {@link whenReady} watches. */
export interface Starting<T> {
  /** Called once, at first; the child's word that it is ready, or cannot be, goes to one of its arguments. */
  readonly listen: (ready: (value: T) => void, failed: (reason: Error) => void) => void;
  /** Settles when the child has ended, however it did. Never rejects. */
  readonly ended: Promise<Error | null>;
  readonly withinMs: number;
  /** Called when the deadline comes first: asks the child to end, and returns what the caller is told. */
  readonly giveUp: () => Error;
}

/**
 * The start of everything that a supervisor keeps: a race of ready, exit and a deadline. The first counts.
 *
 * @throws why the child is not ready: its own word, its end, or what `giveUp` returns
 */
export async function whenReady<T>(starting: Starting<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      timer = setTimeout(() => reject(starting.giveUp()), starting.withinMs);
      void starting.ended.then((reason) => reject(reason ?? new Error("Stopped before it was ready")));
      starting.listen(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Whether `work` settles, well or badly, within `limitMs`. */
export async function settlesWithin(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, limitMs, false);
  });
  const settled = work.then(
    () => true,
    () => true,
  );
  const isSettled = await Promise.race([settled, deadline]);
  clearTimeout(timer);
  return isSettled;
}
