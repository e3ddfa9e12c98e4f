import { setTimeout as sleep } from "node:timers/promises";

/** Waits as a real client would between messages or attempts. */
export async function pace(ms: number): Promise<void> {
  await sleep(ms);
}

/** Waits before a fault that may hit work at any point: the moment is random, and nothing depends on it. */
export async function momentOfFault(afterMs: number): Promise<void> {
  await sleep(afterMs);
}

/** Checks for `forMs` that something remains true. @throws as soon as it is not */
export async function stays(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  forMs: number,
): Promise<void> {
  const endMs = performance.now() + forMs;
  do {
    if (!(await isTrue())) throw new Error(`did not stay: ${what}`);
    await sleep(LOOK_MS);
  } while (performance.now() < endMs);
  if (!(await isTrue())) throw new Error(`did not stay: ${what}`);
}

/** Throws if `work` takes longer than `limitMs`, a deadline far beyond what a slow machine needs. */
export async function within<T>(limitMs: number, what: string, work: Promise<T>): Promise<T> {
  const isOver = new AbortController();
  const late = sleep(limitMs, undefined, { signal: isOver.signal, ref: false }).then(() => {
    throw new Error(`not within ${limitMs} ms: ${what}`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => undefined);
    isOver.abort();
  }
}

const LOOK_MS = 10;
