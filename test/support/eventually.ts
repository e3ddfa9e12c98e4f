import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 20;

/** Polls until `isTrue` resolves to true. @throws after `limitMs` */
export async function eventually(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  limitMs = 90_000,
): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!(await isTrue())) {
    if (performance.now() > deadlineMs) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(POLL_MS);
  }
}
