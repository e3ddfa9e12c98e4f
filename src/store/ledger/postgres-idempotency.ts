import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../../core/observe/log.js";
import type { Attempt, Claim, Idempotency, KeyedRequest } from "../../../core/ports/idempotency.js";
import { within } from "../postgres/within.js";
import type { ClaimedRow, IdempotencyKeys } from "./idempotency-keys.js";
import { meteringUnavailable } from "./metering-errors.js";
import { Settlements } from "./settlements.js";

/** A question that a client waits for. */
const ANSWER_MS = 3_000;
/** A hold is settled moments after its answer: so long, and so often, a claim waits for it. */
const SETTLING_PAUSE_MS = 50;
const SETTLING_PAUSES = 10;
/** How long the end of the service waits until every attempt's end is written. */
const CLOSE_MS = 5_000;

/** Idempotency keys on PostgreSQL, as one running service uses them. */
export class PostgresIdempotency implements Idempotency {
  readonly #keys: IdempotencyKeys;
  readonly #serviceId: string;
  readonly #log: Log;
  /** Ends of attempts that must be written: until then their keys stay in use. */
  readonly #endings: Settlements;
  /** Request ids of attempts whose end is not written yet. */
  readonly #running = new Set<string>();

  constructor(keys: IdempotencyKeys, serviceId: string, log: Log) {
    this.#keys = keys;
    this.#serviceId = serviceId;
    this.#log = log;
    this.#endings = new Settlements(log);
  }

  async claim(request: KeyedRequest): Promise<Claim> {
    for (let pauses = 0; ; pauses++) {
      const claimed = await this.#claim(request);
      if (claimed.type === "begun") return { ...claimed, attempt: this.#attempt(request.requestId) };
      if (claimed.type !== "in-use") return claimed;
      if (!claimed.isSettling || pauses === SETTLING_PAUSES) return { type: "in-use" };
      await sleep(SETTLING_PAUSE_MS);
    }
  }

  async #claim(request: KeyedRequest): Promise<ClaimedRow> {
    const { requestId } = request;
    this.#running.add(requestId);
    const claiming = this.#keys.claim({ ...request, serviceId: this.#serviceId });
    try {
      const claimed = await within(ANSWER_MS, claiming);
      if (claimed.type !== "begun") this.#running.delete(requestId);
      return claimed;
    } catch (cause) {
      // It may have been entered all the same, or still be.
      void claiming.catch(() => {}).then(() => this.#end(requestId));
      throw this.#unavailable(cause);
    }
  }

  async isKnown(organizationId: string, key: string): Promise<boolean> {
    try {
      return await within(ANSWER_MS, this.#keys.isKnown(organizationId, key));
    } catch (cause) {
      throw this.#unavailable(cause);
    }
  }

  /**
   * Ends attempts that this service knows to be over and the database has running: an asynchronous standby that was promoted
   * has forgotten their end. Returns how many.
   */
  async endForgotten(): Promise<number> {
    const entered = await this.#keys.listRunning(this.#serviceId);
    const suspects = entered.filter((requestId) => !this.#running.has(requestId));
    if (suspects.length === 0) return 0;
    // The end of one may have been written while the answer was on its way: the next answer knows of it.
    const still = new Set(await this.#keys.listRunning(this.#serviceId));
    const forgotten = suspects.filter((requestId) => still.has(requestId));
    for (const requestId of forgotten) await this.#keys.endAttempt(requestId);
    return forgotten.length;
  }

  /** Lets endings be written. May be called twice. */
  async close(): Promise<void> {
    await this.#endings.close(CLOSE_MS);
  }

  #attempt(requestId: string): Attempt {
    return {
      answered: async (answer) => {
        try {
          const isKept = await within(ANSWER_MS, this.#keys.answer(requestId, answer));
          if (isKept) this.#running.delete(requestId);
          return isKept;
        } catch (error) {
          // The answer is delivered all the same; a replay will be made again, and not charged.
          this.#log.warn({ err: error, requestId }, "answer not kept");
          return false;
        }
      },
      hears: async (audioSha256) => {
        try {
          await within(ANSWER_MS, this.#keys.noteAudio(requestId, audioSha256));
        } catch (cause) {
          throw this.#unavailable(cause);
        }
      },
      // The caller has an answer to send: a database that is away must not stop that.
      over: () => within(ANSWER_MS, this.#end(requestId)).catch(() => {}),
    };
  }

  async #end(requestId: string): Promise<void> {
    await this.#endings.settle(requestId, () => this.#keys.endAttempt(requestId));
    this.#running.delete(requestId);
  }

  #unavailable(cause: unknown) {
    this.#log.warn({ err: cause }, "idempotency keys not available");
    return meteringUnavailable(cause);
  }
}
