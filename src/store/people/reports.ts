import type { PendingQuery, Row, Sql } from "postgres";
import type { UsagePeriod } from "../../domain/usage/period.js";
import type { UsageSum } from "../../ports/account-reports.js";
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
    const today = this.#sql`date_trunc('day', now() at time zone 'UTC')`;
    const since = this.#sql`${today} - make_interval(days => ${days - 1})`;
    const rows = await this.#sql<Summed<UsageRow>[]>`
      ${this.#charged(organizationId, since, this.#sql`'infinity'::timestamp`)} order by 1, 2, 3, 4`;
    return rows.map(toNumbers);
  }

  /** What `usage` tells, without the keys. */
  async usageBetween(organizationId: string, { from, to }: UsagePeriod): Promise<UsageSum[]> {
    // The driver makes dates of what the server calls a date: these are text until the server has them.
    const since = this.#sql`${from}::text::date::timestamp`;
    const until = this.#sql`${to}::text::date::timestamp + interval '1 day'`;
    const rows = await this.#sql<Summed<UsageSum>[]>`
      select day, kind, endpoint, sum(requests) as requests, sum(quantity) as quantity, sum(credits) as credits
      from (${this.#charged(organizationId, since, until)}) as charged
      group by 1, 2, 3 order by 1, 2, 3`;
    return rows.map(toNumbers);
  }

  /** Everything charged from `since` to before `until`, both timestamps of UTC, by day, kind, path and key. */
  #charged(organizationId: string, since: Fragment, until: Fragment): Fragment {
    return this.#sql`
      select to_char(opened_at at time zone 'UTC', 'YYYY-MM-DD') as day, kind, endpoint, key_id as "keyId",
        api_keys.name as "keyName", count(*) as requests, sum(units::float8 / units_per_second) as quantity,
        sum(amount) as credits
      from holds left join api_keys on api_keys.id = key_id
      where holds.organization_id = ${organizationId} and state in ('posted', 'settled')
        and opened_at >= (${since}) at time zone 'UTC' and opened_at < (${until}) at time zone 'UTC'
      group by 1, 2, 3, 4, 5`;
  }
}

function toNumbers<T extends UsageSum>(row: Summed<T>): T {
  const { requests, quantity, credits } = row;
  // Every other column is as the row has it.
  return { ...row, requests: Number(requests), quantity: Number(quantity), credits: Number(credits) } as T;
}

type Fragment = PendingQuery<Row[]>;

/** The driver gives 64-bit numbers as text. */
type LedgerRow = Omit<LedgerEntry, "position" | "amount"> & {
  readonly position: string;
  readonly amount: string;
};
type Summed<T extends UsageSum> = Omit<T, "requests" | "quantity" | "credits"> & {
  readonly requests: string;
  readonly quantity: string;
  readonly credits: string;
};
