import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../../core/observe/log.js";
import type { Attempt, Claim, Idempotency, KeyedRequest } from "../../../core/ports/idempotency.js";
import { ANSWER_MS, orUnavailable, within } from "../postgres/within.js";
import type { ClaimedRow, IdempotencyKeys } from "./idempotency-keys.js";
import { METERING_UNAVAILABLE } from "./metering-errors.js";
import { Settlements } from "./settlements.js";

/** A hold is settled moments after its response. A claim waits for that, and checks at this interval. */
const SETTLING_PAUSE_MS = 50;
const SETTLING_PAUSES = 10;
/** Time that shutdown waits until the end of every attempt is written. */
const CLOSE_MS = 5_000;

/** Provides idempotency keys in PostgreSQL to one running service. */
export class PostgresIdempotency implements Idempotency {
  readonly #keys: IdempotencyKeys;
  readonly #serviceId: string;
  readonly #log: Log;
  /** Ends of attempts, retried until written. Their keys stay in use until then. */
  readonly #endings: Settlements;
  /** Request IDs of attempts whose end was not written yet. */
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
      const claimed = await this.#ask(claiming);
      if (claimed.type !== "begun") this.#running.delete(requestId);
      return claimed;
    } catch (error) {
      // The attempt may have been registered, or may still be, although no reply arrived.
      void claiming.catch(() => {}).then(() => this.#end(requestId));
      throw error;
    }
  }

  async isKnown(organizationId: string, key: string): Promise<boolean> {
    return await this.#ask(this.#keys.isKnown(organizationId, key));
  }

  /**
   * Ends attempts that the database considers running although this service knows that they have ended; this
   * happens after the promotion of an asynchronous standby. Returns how many there were.
   */
  async endForgotten(): Promise<number> {
    const suspects = (await this.#keys.listRunning(this.#serviceId)).filter(
      (requestId) => !this.#running.has(requestId),
    );
    if (suspects.length === 0) return 0;
    // Query again, because some attempts may have ended while the first result was in flight.
    const still = new Set(await this.#keys.listRunning(this.#serviceId));
    const forgotten = suspects.filter((requestId) => still.has(requestId));
    for (const requestId of forgotten) await this.#keys.endAttempt(requestId);
    return forgotten.length;
  }

  /** Waits until all ends are written. May be called twice. */
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
          // The client still gets the response. A repeated request is processed again, without a charge.
          this.#log.warn({ err: error, requestId }, "response not stored");
          return false;
        }
      },
      hears: (audioSha256) => this.#ask(this.#keys.noteAudio(requestId, audioSha256)),
      // An unreachable database must not delay the caller, which has a response to send.
      over: () => within(ANSWER_MS, this.#end(requestId)).catch(() => {}),
    };
  }

  async #end(requestId: string): Promise<void> {
    await this.#endings.settle(requestId, () => this.#keys.endAttempt(requestId));
    this.#running.delete(requestId);
  }

  #ask<T>(query: Promise<T>): Promise<T> {
    return orUnavailable(query, METERING_UNAVAILABLE, (cause) => {
      this.#log.warn({ err: cause }, "idempotency keys not available");
    });
  }
}
