import type { ISql } from "postgres";

export interface Balance {
  readonly organizationId: string;
  /** All its credits, including those held. */
  readonly balance: number;
  /** Credits held for work in progress. */
  readonly held: number;
  /** Credits that new work may use. */
  readonly available: number;
}

/** Keeps the table `accounts`: one account per organization, besides the system's own. */
export class Accounts {
  readonly #sql: ISql;

  constructor(sql: ISql) {
    this.#sql = sql;
  }

  /** Creates an organization's account if it is missing. */
  async ensure(organizationId: string): Promise<void> {
    await this.#sql`
      insert into accounts (id, organization_id, balance, held) values (${organizationId}, ${organizationId}, 0, 0)
      on conflict (id) do nothing`;
  }

  /** Finds a balance. Null when there is no such organization. */
  async find(organizationId: string): Promise<Balance | null> {
    const [row] = await this.#sql<Balance[]>`${this.#select()} where organization_id = ${organizationId}`;
    return row ?? null;
  }

  /** Lists balances of all organizations. */
  async list(): Promise<Balance[]> {
    return await this.#sql<Balance[]>`${this.#select()} where organization_id is not null`;
  }

  #select() {
    return this.#sql`
      select organization_id as "organizationId", balance, held, balance - held as available from accounts`;
  }
}
