import { setTimeout as sleep } from "node:timers/promises";

/** Of one who behaves like a real client: it sends, rests, or tries again at a pace of its own. */
export async function pace(ms: number): Promise<void> {
  await sleep(ms);
}

/** Before a fault that is to meet work at any point of it: the moment is the test's, and nothing is expected by then. */
export async function momentOfFault(afterMs: number): Promise<void> {
  await sleep(afterMs);
}

/** Looks for so long whether something stays as it is, and fails as soon as it does not. */
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

/** Fails when `work` takes longer: a deadline far beyond what a slow machine needs. */
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
