import type { Sql } from "postgres";
import type { Credits, LedgerEntry, Reports, UsageRow } from "../../ports/console-store.js";

/** Questions over the ledger: reads only. */
export class PostgresReports implements Reports {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async credits(organizationId: string): Promise<Credits> {
    const [row] = await this.#sql<{ balance: string; held: string; tier: Credits["tier"] }[]>`
      select balance, held, case when exists (
          select 1 from transfers where credit_account = ${organizationId} and kind = 'topup'
        ) then 'paid' else 'free' end as tier
      from accounts where organization_id = ${organizationId}`;
    if (row === undefined) throw new Error(`the organization ${organizationId} has no account`);
    const [balance, held] = [Number(row.balance), Number(row.held)];
    return { balance, held, available: balance - held, tier: row.tier };
  }

  async ledger(organizationId: string, before: number | null, limit: number): Promise<LedgerEntry[]> {
    // References of charges and refunds are `charge:` and `refund:` and the hold's id, which is the request's.
    const rows = await this.#sql<LedgerRow[]>`
      select transfers.id as position, transfers.kind,
        case when debit_account = ${organizationId} then -transfers.amount else transfers.amount end as amount,
        case when transfers.kind in ('charge', 'refund')
          then substr(reference, length(transfers.kind) + 2) end as "requestId",
        holds.endpoint, api_keys.name as "keyName", transfers.created_at as "createdAt"
      from transfers
        left join holds on transfers.kind in ('charge', 'refund')
          and holds.id = substr(reference, length(transfers.kind) + 2)
        left join api_keys on api_keys.id = holds.key_id
      where (debit_account = ${organizationId} or credit_account = ${organizationId})
        and (${before}::bigint is null or transfers.id < ${before})
      order by transfers.id desc limit ${limit}`;
    return rows.map((row) => ({ ...row, position: Number(row.position), amount: Number(row.amount) }));
  }

  async usage(organizationId: string, days: number): Promise<UsageRow[]> {
    const rows = await this.#sql<UsageSums[]>`
      select to_char(opened_at at time zone 'UTC', 'YYYY-MM-DD') as day, kind, endpoint, key_id as "keyId",
        api_keys.name as "keyName", count(*) as requests, sum(units::float8 / units_per_second) as quantity,
        sum(amount) as credits
      from holds left join api_keys on api_keys.id = key_id
      where holds.organization_id = ${organizationId} and state in ('posted', 'settled')
        and opened_at >= (date_trunc('day', now() at time zone 'UTC') - make_interval(days => ${days - 1}))
          at time zone 'UTC'
      group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4`;
    return rows.map((row) => ({
      ...row,
      requests: Number(row.requests),
      quantity: Number(row.quantity),
      credits: Number(row.credits),
    }));
  }
}

/** The driver gives 64-bit numbers as text. */
type LedgerRow = Omit<LedgerEntry, "position" | "amount"> & {
  readonly position: string;
  readonly amount: string;
};
type UsageSums = Omit<UsageRow, "requests" | "quantity" | "credits"> & {
  readonly requests: string;
  readonly quantity: string;
  readonly credits: string;
};
