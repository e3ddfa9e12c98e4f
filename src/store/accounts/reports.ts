import type { PendingQuery, Row, Sql } from "postgres";
import type { UsagePeriod } from "../../../core/domain/usage/period.js";
import type { AccountReports, UsageSum } from "../../../core/ports/account-reports.js";
import type {
  Credits,
  LedgerCursor,
  LedgerEntry,
  LedgerFilter,
  Reports,
  UsageRow,
} from "../../../core/ports/console-store.js";
import { orUnavailable } from "../postgres/within.js";
import type { ApiKeys } from "./api-keys.js";

/** Answers read-only queries on the ledger. */
export class PostgresReports implements Reports {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async credits(organizationId: string): Promise<Credits> {
    const [row] = await this.#sql<CreditsRow[]>`
      select balance, held, paid.amount as "toppedUp", paid.created_at as "toppedUpAt"
      from accounts left join lateral (
        select amount, created_at from transfers
        where credit_account = accounts.id and kind = 'topup' order by id desc limit 1) paid on true
      where organization_id = ${organizationId}`;
    if (row === undefined) throw new Error(`the organization ${organizationId} has no account`);
    const { balance, held, toppedUp, toppedUpAt } = row;
    const isPaid = toppedUp !== null && toppedUpAt !== null;
    return {
      balance,
      held,
      available: balance - held,
      tier: isPaid ? "paid" : "free",
      lastTopUp: isPaid ? { credits: toppedUp, createdAt: toppedUpAt } : null,
    };
  }

  async ledger(
    organizationId: string,
    page: { readonly filter: LedgerFilter; readonly before: LedgerCursor | null; readonly limit: number },
  ): Promise<LedgerEntry[]> {
    const { kind, from, until } = page.filter;
    const { position = null, balance = null } = page.before ?? {};
    const isOurs = this.#sql`(debit_account = ${organizationId} or credit_account = ${organizationId})`;
    const signed = this.#sql`case when debit_account = ${organizationId} then -amount else amount end`;
    // Balances are computed back from the current one, or from the cursor's, over all transfers since,
    // including those that the filter hides. References of charges and refunds are `charge:` or `refund:`
    // followed by the hold's ID, which is the request's.
    return await this.#sql<LedgerEntry[]>`
      with page as materialized (
        select id, kind, created_at, ${signed} as amount,
          case when kind in ('charge', 'refund') then substr(reference, length(kind) + 2) end as request_id
        from transfers
        where ${isOurs} and (${position}::bigint is null or id < ${position})
          and (${kind}::text is null or kind = ${kind})
          and (${from}::timestamptz is null or created_at >= ${from})
          and (${until}::timestamptz is null or created_at < ${until})
        order by id desc limit ${page.limit}
      ), moved as (
        select id, sum(${signed}) over (order by id desc) as since from transfers
        where ${isOurs} and id >= (select min(id) from page)
          and (${balance}::bigint is null or id < ${position})
      )
      select page.id as position, page.kind, page.amount, page.request_id as "requestId",
        coalesce(${balance}::bigint, accounts.balance) - moved.since + page.amount as balance,
        holds.endpoint, api_keys.name as "keyName", page.created_at as "createdAt"
      from page
        join moved on moved.id = page.id
        join accounts on accounts.id = ${organizationId}
        left join holds on holds.id = page.request_id
        left join api_keys on api_keys.id = holds.key_id
      order by page.id desc`;
  }

  async usage(organizationId: string, days: number): Promise<UsageRow[]> {
    const today = this.#sql`date_trunc('day', now() at time zone 'UTC')`;
    const since = this.#sql`${today} - make_interval(days => ${days - 1})`;
    return await this.#sql<UsageRow[]>`
      ${this.#charged(organizationId, since, this.#sql`'infinity'::timestamp`)} order by 1, 2, 3, 4`;
  }

  /** Sums the usage between two days, without distinguishing keys. */
  async usageBetween(organizationId: string, { from, to }: UsagePeriod): Promise<UsageSum[]> {
    // Pass days as text, because the driver would convert parameters of type date.
    const since = this.#sql`${from}::text::date::timestamp`;
    const until = this.#sql`${to}::text::date::timestamp + interval '1 day'`;
    return await this.#sql<UsageSum[]>`
      select day, kind, endpoint, sum(requests) as requests, sum(quantity) as quantity, sum(credits) as credits
      from (${this.#charged(organizationId, since, until)}) as charged
      group by 1, 2, 3 order by 1, 2, 3`;
  }

  /** Sums charges in [since, until), which are UTC timestamps, by day, kind, path and key. */
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

/** Gives holders of a key access to reports on their organization. */
export function accountReports(reports: PostgresReports, keys: Pick<ApiKeys, "find">): AccountReports {
  const ask = <T>(query: Promise<T>) =>
    orUnavailable(query, "credits and usage cannot be looked up at the moment");
  return {
    key: async (keyId) => {
      const key = await ask(keys.find(keyId));
      return key === null ? null : { ...key, month: key.usage[0]! };
    },
    credits: (organizationId) => ask(reports.credits(organizationId)),
    usage: (organizationId, period) => ask(reports.usageBetween(organizationId, period)),
  };
}

type Fragment = PendingQuery<Row[]>;

interface CreditsRow {
  readonly balance: number;
  readonly held: number;
  readonly toppedUp: number | null;
  readonly toppedUpAt: Date | null;
}
