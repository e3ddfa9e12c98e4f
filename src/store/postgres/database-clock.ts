import type { Sql } from "postgres";
import type { Clock, SharedClock } from "../../../core/ports/clock.js";

/** A reading may be off by half its round trip, so slower ones are discarded. */
const SLOWEST_MS = 1_000;

/**
 * Follows the database's clock: reads it periodically, and uses the process's monotonic clock in between.
 */
export class DatabaseClock implements SharedClock {
  readonly #sql: Sql;
  readonly #clock: Clock;
  /** Offset of the database's clock from the monotonic clock; null before the first `sync`. */
  #offsetMs: number | null = null;

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** Reads the database's clock. */
  async sync(): Promise<void> {
    const askedAtMs = this.#clock.nowMs();
    const [row] = await this.#sql<{ nowMs: number }[]>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`;
    const tookMs = this.#clock.nowMs() - askedAtMs;
    if (row === undefined || (this.#offsetMs !== null && tookMs > SLOWEST_MS)) return;
    this.#offsetMs = row.nowMs - (askedAtMs + tookMs / 2);
  }

  /** Returns the time. @throws {Error} before the first `sync` */
  nowMs(): number {
    if (this.#offsetMs === null) throw new Error("the database's clock was not read yet");
    return this.#clock.nowMs() + this.#offsetMs;
  }
}
