import type { ISql } from "postgres";

/** What an organization has. */
export interface Balance {
  readonly organizationId: string;
  /** Credits that are its own, those set aside for work in progress included. */
  readonly balance: number;
  /** Credits set aside for work in progress. */
  readonly held: number;
  /** Credits that new work may use. */
  readonly available: number;
}

/** The table `accounts`: one account per organization besides the system's own. */
export class Accounts {
  readonly #sql: ISql;

  constructor(sql: ISql) {
    this.#sql = sql;
  }

  /** Makes an organization's account unless it is there. */
  async ensure(organizationId: string): Promise<void> {
    await this.#sql`
      insert into accounts (id, organization_id, balance, held) values (${organizationId}, ${organizationId}, 0, 0)
      on conflict (id) do nothing`;
  }

  /** Null for an organization that does not exist. */
  async find(organizationId: string): Promise<Balance | null> {
    const [row] = await this.#sql<BalanceRow[]>`
      select organization_id, balance, held from accounts where organization_id = ${organizationId}`;
    return row === undefined ? null : toBalance(row);
  }

  /** Balances of all organizations. */
  async list(): Promise<Balance[]> {
    const rows = await this.#sql<BalanceRow[]>`
      select organization_id, balance, held from accounts where organization_id is not null`;
    return rows.map(toBalance);
  }
}

/** The driver gives 64-bit numbers as text; no balance comes near 2^53. */
interface BalanceRow {
  readonly organization_id: string;
  readonly balance: string;
  readonly held: string;
}

function toBalance(row: BalanceRow): Balance {
  const [balance, held] = [Number(row.balance), Number(row.held)];
  return { organizationId: row.organization_id, balance, held, available: balance - held };
}
