import type { Sql } from "postgres";
import { LIVE_TARIFF } from "../../../core/domain/usage/tariff.js";
import { Organizations } from "../../../src/store/accounts/organizations.js";
import { Accounts } from "../../../src/store/ledger/accounts.js";
import { HoldChanges } from "../../../src/store/ledger/hold-changes.js";
import { Holds, type NewHold } from "../../../src/store/ledger/holds.js";
import { IdempotencyKeys } from "../../../src/store/ledger/idempotency-keys.js";
import { ServiceInstances } from "../../../src/store/ledger/service-instances.js";
import { Transfers } from "../../../src/store/ledger/transfers.js";
import { MIGRATIONS } from "../../../src/store/migrations/all.js";
import { connect } from "../../../src/store/postgres/connect.js";
import type { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { migrate } from "../../../src/store/postgres/migrate.js";
import { SILENT } from "../../support/silent-log.js";

/** The ledger's tables on a separate database. */
export interface LedgerTables {
  readonly sql: Sql;
  readonly accounts: Accounts;
  readonly transfers: Transfers;
  readonly holds: Holds;
  readonly changes: HoldChanges;
  readonly idempotencyKeys: IdempotencyKeys;
  readonly instances: ServiceInstances;
  readonly organizations: Organizations;
}

let databaseCount = 0;

export async function newLedger(server: EmbeddedPostgres): Promise<LedgerTables> {
  const database = `ledger_${++databaseCount}`;
  const admin = connect(server.connection, SILENT);
  await admin.unsafe(`create database ${database}`);
  await admin.end();
  const sql = connect({ ...server.connection, database }, SILENT);
  await migrate(sql, MIGRATIONS);
  return {
    sql,
    accounts: new Accounts(sql),
    transfers: new Transfers(sql),
    holds: new Holds(sql),
    changes: new HoldChanges(sql),
    idempotencyKeys: new IdempotencyKeys(sql),
    instances: new ServiceInstances(sql),
    organizations: new Organizations(sql),
  };
}

/** A live hold of whole seconds at 16 kHz, which cost 6 credits each. */
export function liveHold(id: string, organizationId: string, seconds: number, serviceId = "svc_a"): NewHold {
  const quantity = { units: seconds * 16_000, unitsPerSecond: 16_000 };
  return { id, organizationId, serviceId, kind: "live", quantity, tariff: LIVE_TARIFF };
}

/** Journals what open live holds have accepted in each hold, as earlier versions did. */
export async function journalInHolds(sql: Sql, acceptedById: ReadonlyMap<string, number>): Promise<void> {
  await sql`
    update holds set units = greatest(holds.units, journal.units)
    from unnest(${[...acceptedById.keys()]}::text[], ${[...acceptedById.values()]}::bigint[]) as journal (id, units)
    where holds.id = journal.id and holds.state = 'open'`;
}

/** Returns the broken rules of the ledger, each with its place. */
export async function brokenRules(sql: Sql): Promise<readonly object[]> {
  const rows = await sql`
    with moved as (
      select account, sum(amount) as balance from (
        select credit_account as account, amount from transfers
        union all select debit_account, -amount from transfers
      ) as entries group by account
    ), in_work as (
      select organization_id, sum(held) as held from holds where state = 'open' group by organization_id
    ), charged as (
      select hold, sum(amount) as amount, count(*) filter (where amount > 0) as charges from (
        select substr(reference, 8) as hold, amount from transfers where kind = 'charge'
        union all select substr(reference, 8), -amount from transfers where kind = 'refund'
      ) as charges group by hold
    )
    select 'sum of all accounts' as rule, null as id from moved having sum(balance) <> 0
    union all
    select 'balance is the sum of its transfers', id from accounts left join moved on account = id
      where organization_id is not null and accounts.balance <> coalesce(moved.balance, 0)
    union all
    select 'held is the sum of its open holds', id from accounts left join in_work using (organization_id)
      where organization_id is not null and accounts.held <> coalesce(in_work.held, 0)
    union all
    select 'no organization below zero', id from accounts where balance < 0 or held < 0 or held > balance
    union all
    select 'a month of a key is the sum of its holds', coalesce(counted.key_id, summed.key_id)
      from key_months as counted full join (
        select key_id, month_of(opened_at) as month, sum(case state when 'open' then held else 0 end) as held,
          sum(amount) as charged
        from holds where key_id like 'key\\_%' group by 1, 2
      ) as summed on summed.key_id = counted.key_id and summed.month = counted.month
      where coalesce(counted.held, 0) <> coalesce(summed.held, 0)
        or coalesce(counted.charged, 0) <> coalesce(summed.charged, 0)
    union all
    select 'one charge per hold, of its amount', id from holds left join charged on hold = id
      where holds.amount <> coalesce(charged.amount, 0) or charges > 1
    union all
    select 'amount is the tariff of the units', id from holds where state in ('posted', 'settled')
      and amount <> ceil(units::numeric * tariff_credits / (units_per_second * tariff_per_units))`;
  return [...rows];
}
