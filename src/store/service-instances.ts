import type { ISql } from "postgres";

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

  /** Forgets services without a sign of life for `silentMs`. */
  async removeSilent(silentMs: number): Promise<void> {
    await this.#sql`
      delete from service_instances where seen_at < now() - ${silentMs}::float8 * interval '1 millisecond'`;
  }
}
