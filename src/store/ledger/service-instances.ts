import type { ISql } from "postgres";
import type { LastHeartbeat } from "./heartbeat-monitor.js";
import { retryingConflicts } from "./holds.js";

/** Audio that all open live holds of a service have accepted so far. */
export interface ServiceJournal {
  readonly serviceId: string;
  /** Counts up from 1. */
  readonly nth: number;
  readonly acceptedById: ReadonlyMap<string, number>;
}

export interface Journaled {
  /** False, and nothing written, when the service was presumed stopped or has sent a later journal. */
  readonly isWritten: boolean;
  /** Its holds that are not open any more. */
  readonly closed: ReadonlySet<string>;
}

/**
 * Keeps the table `service_instances`: running services, each with its last heartbeat and what its live
 * sessions have used. Deleting a service's row copies its journal to its holds in the same transaction
 * (`keep_journal`), where sweeps look.
 */
export class ServiceInstances {
  readonly #sql: ISql;

  constructor(sql: ISql) {
    this.#sql = sql;
  }

  /** Writes a heartbeat; the first one registers the service. */
  async heartbeat(id: string): Promise<void> {
    await this.#sql`
      insert into service_instances (id) values (${id}) on conflict (id) do update set seen_at = now()`;
  }

  /** Replaces the service's journal. */
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

  /** Removes a service that is known to have stopped. */
  remove(id: string): Promise<void> {
    return retryingConflicts(async () => {
      await this.#sql`delete from service_instances where id = ${id}`;
    });
  }

  /** Lists every service with its last heartbeat. */
  async heartbeats(): Promise<LastHeartbeat[]> {
    return await this.#sql<LastHeartbeat[]>`select id, seen_at::text as heartbeat from service_instances`;
  }

  /** Removes a silent service, unless it has sent a heartbeat since. */
  removeSilent({ id, heartbeat }: LastHeartbeat): Promise<void> {
    return retryingConflicts(async () => {
      await this.#sql`delete from service_instances where id = ${id} and seen_at::text = ${heartbeat}`;
    });
  }
}
