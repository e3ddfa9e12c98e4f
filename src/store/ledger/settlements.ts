import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../../core/observe/log.js";
import { succeedsWithin, within } from "../postgres/within.js";

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/**
 * Longer than any statement may take: the driver never settles a query that is sent between the error and the
 * close of its connection. Settlements are safe to repeat.
 */
const ATTEMPT_MS = 15_000;

/**
 * Retries charges and releases for as long as the database is unreachable. After a crash, the next start
 * settles them.
 */
export class Settlements {
  readonly #log: Log;
  readonly #attemptMs: number;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  /** @param attemptMs time after which an attempt counts as failed */
  constructor(log: Log, attemptMs = ATTEMPT_MS) {
    this.#log = log;
    this.#attemptMs = attemptMs;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Retries `work` until it succeeds. Returns null if it was given up. */
  async settle<T>(holdId: string, work: () => Promise<T>): Promise<T | null> {
    const running = this.#persist(holdId, work);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Waits for pending work, then makes one last attempt. */
  async close(withinMs: number): Promise<void> {
    const rest = Promise.allSettled(this.#running);
    const isDone = await succeedsWithin(withinMs, rest);
    this.#closing.abort();
    if (!isDone) await succeedsWithin(withinMs, rest);
  }

  async #persist<T>(holdId: string, work: () => Promise<T>): Promise<T | null> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await within(this.#attemptMs, work());
      } catch (error) {
        const isOurMistake = isIntegrityViolation(error);
        const level = isOurMistake ? "error" : "warn";
        this.#log[level]({ err: error, holdId }, "settlement failed");
        if (isOurMistake || this.#closing.signal.aborted) return null;
      }
      // `close` aborts the pause, for one last attempt.
      await sleep(pauseMs, undefined, { signal: this.#closing.signal }).catch(() => {});
    }
  }
}

/** Returns true if the schema rejected the change, which a retry cannot fix. */
function isIntegrityViolation(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^(23|22|42)/.test(String(error.code));
}
