import type { ISql } from "postgres";
import { afterLostRaces } from "./lost-races.js";
import type { LastSign } from "./signs-of-life.js";

/** What all open live holds of a service have accepted so far. */
export interface ServiceJournal {
  readonly serviceId: string;
  /** From 1 on, higher than that of the journal before. */
  readonly nth: number;
  readonly acceptedById: ReadonlyMap<string, number>;
}

/** What became of a journal. */
export interface Journaled {
  /** False when the service was taken to be gone, or has sent a later one: then nothing was written. */
  readonly isWritten: boolean;
  /** Those of its holds that are not open any more. */
  readonly closed: ReadonlySet<string>;
}

/**
 * The table `service_instances`: running services, each with the time of its last sign of life, and with what its live
 * sessions have used. When a service's entry goes, its journal goes to its holds in the same transaction (`keep_journal`),
 * which is where a sweep looks.
 */
export class ServiceInstances {
  readonly #sql: ISql;

  constructor(sql: ISql) {
    this.#sql = sql;
  }

  /** A sign of life; the first one enters the service. */
  async beat(id: string): Promise<void> {
    await this.#sql`
      insert into service_instances (id) values (${id}) on conflict (id) do update set seen_at = now()`;
  }

  /** Writes a journal in place of the one before. */
  async journal({ serviceId, nth, acceptedById }: ServiceJournal): Promise<Journaled> {
    const holds = [...acceptedById.keys()];
    const [row] = await this.#sql<{ is_written: boolean; closed: string[] }[]>`
      with journal as (
        update service_instances set journal_nth = ${nth}::bigint, journal_holds = ${holds}::text[],
          journal_units = ${[...acceptedById.values()]}::bigint[]
        where id = ${serviceId} and journal_nth < ${nth}::bigint
        returning id
      )
      select exists (select from journal) as is_written, array(
        select id from unnest(${holds}::text[]) as journaled (id)
        where not exists (select from holds where holds.id = journaled.id and holds.state = 'open')
      ) as closed`;
    return { isWritten: row?.is_written === true, closed: new Set(row?.closed) };
  }

  /** The service has ended, or is known to be gone. */
  remove(id: string): Promise<void> {
    return afterLostRaces(async () => {
      await this.#sql`delete from service_instances where id = ${id}`;
    });
  }

  /** Every service with its last sign of life. */
  async signs(): Promise<LastSign[]> {
    return await this.#sql<LastSign[]>`select id, seen_at::text as sign from service_instances`;
  }

  /** Forgets a service that is silent, unless it has given a sign since. */
  removeSilent({ id, sign }: LastSign): Promise<void> {
    return afterLostRaces(async () => {
      await this.#sql`delete from service_instances where id = ${id} and seen_at::text = ${sign}`;
    });
  }
}
