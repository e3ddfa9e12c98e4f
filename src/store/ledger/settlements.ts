import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../../core/observe/log.js";
import { within } from "../postgres/within.js";

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/**
 * Longer than any statement may take. The driver never settles a query that was asked between the error and the close of
 * its connection; settlements may be done twice, so that the next try is safe.
 */
const ATTEMPT_MS = 15_000;

/** Charges and releases that must happen, however long the database is away; what a crash cuts off is settled by the next start. */
export class Settlements {
  readonly #log: Log;
  readonly #attemptMs: number;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  /** @param attemptMs after which a try counts as failed */
  constructor(log: Log, attemptMs = ATTEMPT_MS) {
    this.#log = log;
    this.#attemptMs = attemptMs;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Does `work`, again and again until it succeeds. Settles with null when it never did. */
  async settle<T>(holdId: string, work: () => Promise<T>): Promise<T | null> {
    const running = this.#persist(holdId, work);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Waits for what is still to be done, then gives up on it. */
  async close(withinMs: number): Promise<void> {
    const rest = Promise.allSettled(this.#running);
    const isDone = await within(withinMs, rest).then(
      () => true,
      () => false,
    );
    this.#closing.abort();
    // Each has one more try.
    if (!isDone) await within(withinMs, rest).catch(() => {});
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
      await sleep(pauseMs, undefined, { signal: this.#closing.signal }).catch(() => {
        // One more try before giving up.
      });
    }
  }
}

/** A broken rule of the schema does not heal by trying again. */
function isIntegrityViolation(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^(23|22|42)/.test(String(error.code));
}
