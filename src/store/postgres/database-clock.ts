import type { Sql } from "postgres";
import type { Clock, SharedClock } from "../../../core/ports/clock.js";

/** Half of what an answer took is how far off its time may be: a slower one tells less than the last one did. */
const SLOWEST_MS = 1_000;

/** The database's clock, looked at now and then and carried on by this process's monotonic one. */
export class DatabaseClock implements SharedClock {
  readonly #sql: Sql;
  readonly #clock: Clock;
  /** From the monotonic clock to the shared one; null before the first look. */
  #offsetMs: number | null = null;

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** Reads the database's clock. A clock that was set is followed from here on. */
  async look(): Promise<void> {
    const askedAtMs = this.#clock.nowMs();
    const [row] = await this.#sql<{ nowMs: number }[]>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`;
    const tookMs = this.#clock.nowMs() - askedAtMs;
    if (row === undefined || (this.#offsetMs !== null && tookMs > SLOWEST_MS)) return;
    this.#offsetMs = row.nowMs - (askedAtMs + tookMs / 2);
  }

  /** @throws {Error} before the first look */
  nowMs(): number {
    if (this.#offsetMs === null)
      throw new Error("Cannot tell the shared time: the database was not asked yet");
    return this.#clock.nowMs() + this.#offsetMs;
  }
}
