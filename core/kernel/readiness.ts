/** A child that {@link whenReady} waits for. */
export interface Starting<T> {
  /** Called once, first; must call one of its arguments when the child is ready or has failed. */
  readonly listen: (ready: (value: T) => void, failed: (reason: Error) => void) => void;
  /** Settles when the child has ended, for any reason. Never rejects. */
  readonly ended: Promise<Error | null>;
  readonly withinMs: number;
  /** Called when the deadline passes first: asks the child to end, and returns the error to throw. */
  readonly giveUp: () => Error;
}

/**
 * Waits for a child's start: the first of ready, exit and deadline counts.
 *
 * @throws the child's own failure, the reason of its end, or the error that `giveUp` returns
 */
export async function whenReady<T>(starting: Starting<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      timer = setTimeout(() => reject(starting.giveUp()), starting.withinMs);
      void starting.ended.then((reason) => reject(reason ?? new Error("stopped before it was ready")));
      starting.listen(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Returns whether `work` settles, either way, within `limitMs`. */
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
