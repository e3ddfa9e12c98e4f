import { randomBytes } from "node:crypto";
import type { Sql } from "postgres";

/** Whoever pays: keys, limits and credits belong to an organization. */
export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
}

/** The table `organizations`. */
export class Organizations {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async create(name: string): Promise<Organization> {
    const id = `org_${randomBytes(12).toString("hex")}`;
    const [row] = await this.#sql<Organization[]>`
      insert into organizations (id, name) values (${id}, ${name})
      returning id, name, created_at as "createdAt"`;
    return row!;
  }

  /** Makes the organization with this fixed id unless it is there; its name stays as it is. */
  async ensure(id: string, name: string): Promise<void> {
    await this.#sql`insert into organizations (id, name) values (${id}, ${name}) on conflict (id) do nothing`;
  }

  async find(id: string): Promise<Organization | null> {
    const [row] = await this.#sql<Organization[]>`
      select id, name, created_at as "createdAt" from organizations where id = ${id}`;
    return row ?? null;
  }

  /** All organizations, oldest first. */
  async list(): Promise<Organization[]> {
    return await this.#sql<Organization[]>`
      select id, name, created_at as "createdAt" from organizations order by created_at, id`;
  }
}
