import type { ISql } from "postgres";
import type { LastHeartbeat } from "./heartbeat-monitor.js";
import { retryingConflicts } from "./holds.js";

/** Audio that each open live hold of a service has accepted so far. */
export interface ServiceJournal {
  readonly serviceId: string;
  /** Sequence number, from 1. */
  readonly nth: number;
  readonly acceptedById: ReadonlyMap<string, number>;
}

export interface Journaled {
  /** False, with nothing written, if the service was presumed stopped or has sent a later journal. */
  readonly isWritten: boolean;
  /** Holds of the service that are no longer open. */
  readonly closed: ReadonlySet<string>;
}

/**
 * Manages the table `service_instances`: running services, each with its last heartbeat and the usage of its
 * live sessions. When a service's row is deleted, its journal is copied to its holds in the same transaction
 * (`keep_journal`), where sweeps look for it.
 */
export class ServiceInstances {
  readonly #sql: ISql;

  constructor(sql: ISql) {
    this.#sql = sql;
  }

  /** Writes a heartbeat. The first one registers the service. */
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

  /** Removes a silent service, unless it has sent a heartbeat in the meantime. */
  removeSilent({ id, heartbeat }: LastHeartbeat): Promise<void> {
    return retryingConflicts(async () => {
      await this.#sql`delete from service_instances where id = ${id} and seen_at::text = ${heartbeat}`;
    });
  }
}
