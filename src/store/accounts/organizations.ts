import { randomBytes } from "node:crypto";
import type { ISql, Sql } from "postgres";
import { Accounts } from "../ledger/accounts.js";
import { Transfers } from "../ledger/transfers.js";

/** An organization owns keys, limits and credits. */
export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
}

/** Manages the table `organizations`. */
export class Organizations {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Creates an organization with an account and free credits. */
  async create(name: string): Promise<Organization> {
    return await this.#sql.begin((transaction) => insertOrganization(transaction, name));
  }

  /** Creates an organization with a fixed ID, unless it exists. */
  async ensure(id: string, name: string): Promise<void> {
    await this.#sql.begin(async (transaction) => {
      await transaction`insert into organizations (id, name) values (${id}, ${name}) on conflict (id) do nothing`;
      await openAccount(transaction, id);
    });
  }

  async find(id: string): Promise<Organization | null> {
    const [row] = await this.#sql<Organization[]>`
      select id, name, created_at as "createdAt" from organizations where id = ${id}`;
    return row ?? null;
  }

  /** Lists all organizations, oldest first. */
  async list(): Promise<Organization[]> {
    return await this.#sql<Organization[]>`
      select id, name, created_at as "createdAt" from organizations order by created_at, id`;
  }
}

/** Creates an organization within the caller's transaction. */
export async function insertOrganization(transaction: ISql, name: string): Promise<Organization> {
  const id = `org_${randomBytes(12).toString("hex")}`;
  const [row] = await transaction<[Organization]>`
    insert into organizations (id, name) values (${id}, ${name})
    returning id, name, created_at as "createdAt"`;
  await openAccount(transaction, id);
  return row;
}

async function openAccount(transaction: ISql, organizationId: string): Promise<void> {
  await new Accounts(transaction).ensure(organizationId);
  await new Transfers(transaction).grantFree(organizationId);
}
