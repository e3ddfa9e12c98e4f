import { createHmac } from "node:crypto";
import type { Sql } from "postgres";
import type { SharedClock } from "../../../core/ports/clock.js";
import type { AttemptRules, Attempts } from "../../../core/ports/console-store.js";
import { ANSWER_MS, within } from "../postgres/within.js";

/** Services read the shared clock some seconds apart. */
const CLOCKS_APART_S = 10;

export interface AttemptsParts {
  readonly sql: Sql;
  /** Secret for the keyed hashes of names. */
  readonly secret: Uint8Array;
  readonly clock: SharedClock;
}

/** Manages the table `attempts`. Windows end by the shared clock. */
export class PostgresAttempts implements Attempts {
  readonly #parts: AttemptsParts;

  constructor(parts: AttemptsParts) {
    this.#parts = parts;
  }

  async take(name: string, { attempts, windowMs }: AttemptRules): Promise<number | null> {
    const [hash, now] = [this.#hash(name), this.#now()];
    // A window that ends later than one that starts now dates from before the clock was set back, and counts
    // as over.
    const isOver = this.#parts.sql`
      (known.until <= ${now} or known.until > excluded.until + make_interval(secs => ${CLOCKS_APART_S}))`;
    const taking = this.#parts.sql<{ isTaken: boolean; leftS: number | null }[]>`
      with taken as (
        insert into attempts as known (name, count, until)
        values (${hash}, 1, ${now} + make_interval(secs => ${windowMs / 1_000}))
        on conflict (name) do update set
          count = case when ${isOver} then 1 else known.count + 1 end,
          until = case when ${isOver} then excluded.until else known.until end
        where ${isOver} or known.count < ${attempts}
        returning name
      )
      select exists (select from taken) as "isTaken",
        (select extract(epoch from until - ${now})::float8 from attempts where name = ${hash}) as "leftS"`;
    const [row] = await within(ANSWER_MS, taking);
    if (row?.isTaken === true) return null;
    // Never return more than a window, even if another service's clock is slightly ahead.
    const windowS = windowMs / 1_000;
    return Math.ceil(Math.min(row?.leftS ?? windowS, windowS));
  }

  async giveBack(name: string): Promise<void> {
    const giving = this.#parts.sql`
      update attempts set count = count - 1 where name = ${this.#hash(name)} and count > 0`;
    await within(ANSWER_MS, giving);
  }

  async clear(name: string): Promise<void> {
    await within(ANSWER_MS, this.#parts.sql`delete from attempts where name = ${this.#hash(name)}`);
  }

  /** Deletes windows that are over. */
  async removeExpired(): Promise<void> {
    await this.#parts.sql`delete from attempts where until <= ${this.#now()}`;
  }

  #now() {
    return this.#parts.sql`to_timestamp(${this.#parts.clock.nowMs() / 1_000}::float8)`;
  }

  #hash(name: string): Buffer {
    return createHmac("sha256", this.#parts.secret).update(name).digest();
  }
}
