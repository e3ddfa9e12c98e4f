import type { ISql, Sql } from "postgres";
import type { Quantity, Tariff, UsageKind } from "../../../core/domain/usage/tariff.js";
import type { UsageOrigin } from "../../../core/ports/usage-meter.js";

/** Prefix of the IDs of jobs' holds, which do not count towards the limits on concurrent requests. */
const JOB_PREFIX = "job_";

export interface NewHold {
  readonly id: string;
  readonly organizationId: string;
  readonly serviceId: string;
  readonly kind: UsageKind;
  readonly quantity: Quantity;
  readonly tariff: Tariff;
  readonly origin?: UsageOrigin;
  readonly limit?: HoldLimit;
}

/** Limit on an organization's active holds of one kind, across all services. */
export interface HoldLimit {
  readonly atOnce: number;
  /** IDs of holds whose work has ended, although the database does not know that yet. */
  readonly over: Iterable<string>;
}

/** Identifies an existing hold that is to be changed. */
export type HoldId = Pick<NewHold, "id" | "organizationId">;

/** A hold that a stopped service left active. */
export interface LeftHold {
  readonly id: string;
  readonly kind: UsageKind;
  readonly state: "open" | "posted";
  readonly units: number;
}

export interface UsageSum {
  readonly kind: UsageKind;
  readonly requests: number;
  /** Characters of synthesis, or seconds of audio. */
  readonly quantity: number;
  readonly credits: number;
}

/** Credits of an open hold after it was opened or extended. */
export interface Cover {
  readonly held: number;
  /** Credits left beyond the hold, for the organization or within the cap of the hold's key. */
  readonly available: number;
  /** The key's monthly cap, if it leaves less than the organization has. */
  readonly cap?: number;
}

/**
 * Changes the table `holds` one hold at a time, with its account and transfer in the same statement. Every
 * change checks the state it starts from, so repeating it has no effect. Locks are always taken in the order
 * hold, account.
 */
export class Holds {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Counts an organization's active holds on all services, except those in `over`. */
  async countInWork(organizationId: string, kind: UsageKind, over: Iterable<string>): Promise<number> {
    const [row] = await this.#sql<{ count: number }[]>`
      select count(*)::int as count from holds
      where organization_id = ${organizationId} and kind = ${kind} and state in ('open', 'posted')
        and id <> all (${[...over]}::text[]) and not starts_with(id, ${JOB_PREFIX})`;
    return row?.count ?? 0;
  }

  /**
   * Raises an open hold to `credits`, or to what the organization has and its key's cap allows. Null if the
   * hold is no longer open.
   */
  extend(id: string, credits: number): Promise<Cover | null> {
    return retryingConflicts(async () => {
      return await this.#sql.begin(async (transaction) => {
        const [hold] = await transaction<{ organization_id: string; held: number }[]>`
          select organization_id, held from holds where id = ${id} and state = 'open' for no key update`;
        if (hold === undefined) return null;
        const available = await lockAvailable(transaction, hold.organization_id);
        // Read this after waiting for the account, because the key's months change under its lock.
        const [key] = await transaction<{ room: number | null }[]>`
          select key_room(key_id, opened_at) as room from holds where id = ${id}`;
        const more = Math.max(0, Math.min(credits - hold.held, available, key?.room ?? available));
        await transaction`update holds set held = held + ${more} where id = ${id}`;
        await transaction`
          update accounts set held = held + ${more} where organization_id = ${hold.organization_id}`;
        return { held: hold.held + more, available: available - more };
      });
    });
  }

  /**
   * Charges an open hold for `units`, but at most for what it covers, and releases the rest. `posted` charges
   * can be refunded until they are completed; `settled` ones are final.
   *
   * @returns the credits; null if the hold was no longer open
   */
  post(id: string, units: number, state: "posted" | "settled"): Promise<number | null> {
    return retryingConflicts(() => postHold(this.#sql, { id, units, state }));
  }

  /** Makes a posted charge final. */
  async complete(id: string): Promise<void> {
    await this.#sql`update holds set state = 'settled' where id = ${id} and state = 'posted'`;
  }

  /** Refunds the part of a posted charge that exceeds `units`, and makes the rest final. */
  refund(id: string, units: number): Promise<void> {
    return retryingConflicts(async () => {
      await this.#sql`
        with before as (
          select id, amount from holds where id = ${id} and state = 'posted' for no key update
        ), hold as (
          update holds set state = 'settled', units = least(holds.units, ${units}::bigint),
            amount = credits_for(
              least(holds.units, ${units}::bigint), units_per_second, tariff_credits, tariff_per_units)
          from before where holds.id = before.id
          returning holds.id, organization_id, before.amount - holds.amount as refund
        ), account as (
          update accounts set balance = accounts.balance + hold.refund
          from hold where accounts.organization_id = hold.organization_id
        )
        insert into transfers (reference, kind, debit_account, credit_account, amount)
        select 'refund:' || id, 'refund', 'revenue', organization_id, refund from hold where refund > 0`;
    });
  }

  /**
   * Ends an open hold without a charge. If the hold does not exist, it is inserted as voided, because the
   * statement that opens it may still be in flight.
   */
  void(hold: NewHold): Promise<void> {
    return retryingConflicts(async () => {
      await this.#sql`
        with hold as (
          insert into holds ${this.#columns()} values (${this.#values(this.#sql, hold)}, 'voided', 0, 0, now())
          on conflict (id) do update set state = 'voided', units = 0, closed_at = now() where holds.state = 'open'
          returning organization_id, held
        )
        update accounts set held = accounts.held - hold.held
        from hold where accounts.organization_id = hold.organization_id and hold.held > 0`;
    });
  }

  /** Ends an open hold that a stopped service left, without a charge. */
  voidLeft(id: string): Promise<void> {
    return retryingConflicts(() => voidLeftHold(this.#sql, id));
  }

  /** Returns a key's monthly cap and how much of it is left; null without a cap. */
  async keyBudget(keyId: string): Promise<{ readonly cap: number; readonly left: number } | null> {
    const [row] = await this.#sql<{ cap: number; left: number }[]>`
      select monthly_credits as cap, key_room(id, now()) as left
      from api_keys where id = ${keyId} and monthly_credits is not null`;
    return row ?? null;
  }

  /** Lists the active holds of stopped services. */
  async listLeft(): Promise<LeftHold[]> {
    return await this.#sql<LeftHold[]>`
      select id, kind, state, units from holds
      where state in ('open', 'posted')
        and not exists (select from service_instances where service_instances.id = holds.service_id)`;
  }

  /** Lists the active holds of one service. */
  async listOf(serviceId: string): Promise<LeftHold[]> {
    return await this.#sql<LeftHold[]>`
      select id, kind, state, units from holds
      where service_id = ${serviceId} and state in ('open', 'posted')`;
  }

  /** Returns the price of `units` under an open hold's tariff; null if the hold is not open. */
  async priceOf(id: string, units: number): Promise<number | null> {
    const [row] = await this.#sql<{ credits: number }[]>`
      select credits_for(${units}::bigint, units_per_second, tariff_credits, tariff_per_units) as credits
      from holds where id = ${id} and state = 'open'`;
    return row?.credits ?? null;
  }

  /** Sums an organization's charges by kind. */
  async usage(organizationId: string): Promise<UsageSum[]> {
    return await this.#sql<UsageSum[]>`
      select kind, count(*) as requests, sum(units::float8 / units_per_second) as quantity, sum(amount) as credits
      from holds where organization_id = ${organizationId} and state in ('posted', 'settled')
      group by kind order by kind`;
  }

  #columns() {
    return this
      .#sql`(id, organization_id, service_id, kind, units_per_second, tariff_credits, tariff_per_units,
      key_id, endpoint, state, units, held, closed_at)`;
  }

  /**
   * Columns that never change. They are cast, since some statements have no column to infer their types from.
   */
  #values(sql: ISql, { id, organizationId, serviceId, kind, quantity, tariff, origin }: NewHold) {
    return sql`${id}::text, ${organizationId}::text, ${serviceId}::text, ${kind}::text,
      ${quantity.unitsPerSecond}::bigint, ${tariff.credits}::bigint, ${tariff.perUnits}::bigint,
      ${origin?.keyId ?? null}::text, ${origin?.endpoint ?? null}::text`;
  }
}

/** Like `Holds.post`, but only once. In a transaction, the charge is made together with the other changes. */
export async function postHold(
  sql: ISql,
  { id, units, state }: { readonly id: string; readonly units: number; readonly state: "posted" | "settled" },
): Promise<number | null> {
  const [row] = await sql<{ amount: number }[]>`
    with hold as (
      update holds set state = ${state}, closed_at = now(),
        units = least(${units}::bigint, held * units_per_second * tariff_per_units / tariff_credits),
        amount = credits_for(
          least(${units}::bigint, held * units_per_second * tariff_per_units / tariff_credits),
          units_per_second, tariff_credits, tariff_per_units)
      where id = ${id} and state = 'open'
      returning id, organization_id, held, amount
    ), account as (
      update accounts set held = accounts.held - hold.held, balance = accounts.balance - hold.amount
      from hold where accounts.organization_id = hold.organization_id
    ), charge as (
      insert into transfers (reference, kind, debit_account, credit_account, amount)
      select 'charge:' || id, 'charge', organization_id, 'revenue', amount from hold where amount > 0
    )
    select amount from hold`;
  return row?.amount ?? null;
}

/**
 * Like `Holds.voidLeft`, but only once. In a transaction, the hold is released together with the other
 * changes.
 */
export async function voidLeftHold(sql: ISql, id: string): Promise<void> {
  await sql`
    with hold as (
      update holds set state = 'voided', units = 0, closed_at = now() where id = ${id} and state = 'open'
      returning organization_id, held
    )
    update accounts set held = accounts.held - hold.held
    from hold where accounts.organization_id = hold.organization_id`;
}

/** Locks an organization's account until the transaction ends. */
async function lockAvailable(transaction: ISql, organizationId: string): Promise<number> {
  const [row] = await transaction<{ available: number }[]>`
    select balance - held as available from accounts where organization_id = ${organizationId} for no key update`;
  return row?.available ?? 0;
}

const CONFLICT_TRIES = 3;

/**
 * Retries a change of the ledger after PostgreSQL lost a race inside itself, in which case nothing was
 * changed. One retry has always been enough. `run` must be one statement or one transaction, and safe to
 * repeat.
 */
export async function retryingConflicts<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      if (tries === CONFLICT_TRIES || !isConflict(error)) throw error;
    }
  }
}

/**
 * Recognizes the two known races. First, PostgreSQL 18 reports "new multixact has more than one updating
 * member" (XX000) if two transactions update a row whose key a third one has locked; this happens a few times
 * in thousands of concurrent changes. Second, a statement that waited while a hold was opened or extended
 * checks the account against its old row, with too little held, before it finds the newer one.
 */
function isConflict(error: unknown): boolean {
  const { code, message, table_name } = error as Readonly<Record<"code" | "message" | "table_name", unknown>>;
  if (code === "23514") return table_name === "accounts";
  return code === "XX000" && String(message).includes("multixact");
}
