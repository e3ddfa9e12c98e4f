import type { ISql } from "postgres";

export interface Balance {
  readonly organizationId: string;
  /** All credits of the organization, including held ones. */
  readonly balance: number;
  /** Credits held for work in progress. */
  readonly held: number;
  /** Credits that new work may use. */
  readonly available: number;
}

/** Manages the table `accounts`: one account per organization, plus those of the system itself. */
export class Accounts {
  readonly #sql: ISql;

  constructor(sql: ISql) {
    this.#sql = sql;
  }

  /** Creates an organization's account, unless it exists. */
  async ensure(organizationId: string): Promise<void> {
    await this.#sql`
      insert into accounts (id, organization_id, balance, held) values (${organizationId}, ${organizationId}, 0, 0)
      on conflict (id) do nothing`;
  }

  /** Returns a balance; null if the organization does not exist. */
  async find(organizationId: string): Promise<Balance | null> {
    const [row] = await this.#sql<Balance[]>`${this.#select()} where organization_id = ${organizationId}`;
    return row ?? null;
  }

  /** Lists the balances of all organizations. */
  async list(): Promise<Balance[]> {
    return await this.#sql<Balance[]>`${this.#select()} where organization_id is not null`;
  }

  #select() {
    return this.#sql`
      select organization_id as "organizationId", balance, held, balance - held as available from accounts`;
  }
}
