import type { ISql } from "postgres";
import type { LastSign } from "./signs-of-life.js";

/** The table `service_instances`: running services, each with the time of its last sign of life. */
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

  /** The service has ended, or is known to be gone. */
  async remove(id: string): Promise<void> {
    await this.#sql`delete from service_instances where id = ${id}`;
  }

  /** Every service with its last sign of life. */
  async signs(): Promise<LastSign[]> {
    return await this.#sql<LastSign[]>`select id, seen_at::text as sign from service_instances`;
  }

  /** Forgets a service that is silent, unless it has given a sign since. */
  async removeSilent({ id, sign }: LastSign): Promise<void> {
    await this.#sql`delete from service_instances where id = ${id} and seen_at::text = ${sign}`;
  }
}
