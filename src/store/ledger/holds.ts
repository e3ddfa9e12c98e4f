import type { ISql, Sql } from "postgres";
import type { Quantity, Tariff, UsageKind } from "../../../core/domain/usage/tariff.js";
import type { UsageOrigin } from "../../../core/ports/usage-meter.js";
import { afterLostRaces } from "./lost-races.js";

/** A hold that is to be opened. */
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

/** How many holds of its kind an organization may have in work, over all services. */
export interface HoldLimit {
  readonly atOnce: number;
  /** Ids of holds whose work is over although the database does not know it yet. */
  readonly over: Iterable<string>;
}

/** What a change of a hold that is there goes by. */
export type HoldId = Pick<NewHold, "id" | "organizationId">;

/** A hold that a service left behind. */
export interface LeftHold {
  readonly id: string;
  readonly kind: UsageKind;
  readonly state: "open" | "posted";
  readonly units: number;
}

/** What was used, summed up. */
export interface UsageSum {
  readonly kind: UsageKind;
  readonly requests: number;
  /** Characters of synthesis, seconds of audio. */
  readonly quantity: number;
  readonly credits: number;
}

/** What an open live hold covers after it was opened or extended. */
export interface Cover {
  readonly held: number;
  /** What the organization has left besides it. */
  readonly available: number;
}

/**
 * The table `holds`, and with it the account and the transfer that change in the same statement: one hold at a time, as sweeps
 * and releases change them. Every change asks for the state it starts from, so that repeating one does nothing. Locks are
 * always taken in the order hold, account.
 */
export class Holds {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Holds of an organization that are in work on any service, without those in `over`. */
  async countInWork(organizationId: string, kind: UsageKind, over: Iterable<string>): Promise<number> {
    const [row] = await this.#sql<{ count: number }[]>`
      select count(*)::int as count from holds
      where organization_id = ${organizationId} and kind = ${kind} and state in ('open', 'posted')
        and id <> all (${[...over]}::text[])`;
    return row?.count ?? 0;
  }

  /** Lets an open hold cover `credits`, or as much of that as there is. Null when it is not open any more. */
  extend(id: string, credits: number): Promise<Cover | null> {
    return afterLostRaces(() => this.#extend(id, credits));
  }

  async #extend(id: string, credits: number): Promise<Cover | null> {
    return await this.#sql.begin(async (transaction) => {
      const [hold] = await transaction<{ organization_id: string; held: string }[]>`
        select organization_id, held from holds where id = ${id} and state = 'open' for no key update`;
      if (hold === undefined) return null;
      const available = await lockAvailable(transaction, hold.organization_id);
      const more = Math.max(0, Math.min(credits - Number(hold.held), available));
      await transaction`update holds set held = held + ${more} where id = ${id}`;
      await transaction`
        update accounts set held = held + ${more} where organization_id = ${hold.organization_id}`;
      return { held: Number(hold.held) + more, available: available - more };
    });
  }

  /**
   * Charges an open hold for `units`, and gives back what it held beyond that. Never more than it holds: units that are
   * not covered are not charged. `posted` charges can be refunded until they are completed, `settled` ones are final.
   *
   * @returns the credits, or null when the hold was not open any more
   */
  post(id: string, units: number, state: "posted" | "settled"): Promise<number | null> {
    return afterLostRaces(() => this.#post(id, units, state));
  }

  async #post(id: string, units: number, state: "posted" | "settled"): Promise<number | null> {
    const [row] = await this.#sql<{ amount: string }[]>`
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
    return row === undefined ? null : Number(row.amount);
  }

  /** Makes a posted charge final. */
  async complete(id: string): Promise<void> {
    await this.#sql`update holds set state = 'settled' where id = ${id} and state = 'posted'`;
  }

  /** Gives back what a posted charge took for more than `units`, and makes the rest final. */
  refund(id: string, units: number): Promise<void> {
    return afterLostRaces(() => this.#refund(id, units));
  }

  async #refund(id: string, units: number): Promise<void> {
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
  }

  /**
   * Ends an open hold without a charge. One that is not there is entered as voided: the statement that was to open it
   * may still be on its way.
   */
  void(hold: NewHold): Promise<void> {
    return afterLostRaces(() => this.#void(hold));
  }

  async #void(hold: NewHold): Promise<void> {
    await this.#sql`
      with hold as (
        insert into holds ${this.#columns()} values (${this.#values(this.#sql, hold)}, 'voided', 0, 0, now())
        on conflict (id) do update set state = 'voided', units = 0, closed_at = now() where holds.state = 'open'
        returning organization_id, held
      )
      update accounts set held = accounts.held - hold.held
      from hold where accounts.organization_id = hold.organization_id and hold.held > 0`;
  }

  /** Ends an open hold that was left behind without a charge. */
  voidLeft(id: string): Promise<void> {
    return afterLostRaces(() => this.#voidLeft(id));
  }

  async #voidLeft(id: string): Promise<void> {
    await this.#sql`
      with hold as (
        update holds set state = 'voided', units = 0, closed_at = now() where id = ${id} and state = 'open'
        returning organization_id, held
      )
      update accounts set held = accounts.held - hold.held
      from hold where accounts.organization_id = hold.organization_id`;
  }

  /** Holds in work of services that are gone. */
  async listLeft(): Promise<LeftHold[]> {
    return asLeft(
      await this.#sql<LeftRow[]>`
        select id, kind, state, units from holds
        where state in ('open', 'posted')
          and not exists (select from service_instances where service_instances.id = holds.service_id)`,
    );
  }

  /** Holds in work of one service. */
  async listOf(serviceId: string): Promise<LeftHold[]> {
    return asLeft(
      await this.#sql<LeftRow[]>`
        select id, kind, state, units from holds
        where service_id = ${serviceId} and state in ('open', 'posted')`,
    );
  }

  /** The price of what an open hold has accepted. Null when it is not open. */
  async priceOf(id: string, units: number): Promise<number | null> {
    const [row] = await this.#sql<{ credits: string }[]>`
      select credits_for(${units}::bigint, units_per_second, tariff_credits, tariff_per_units) as credits
      from holds where id = ${id} and state = 'open'`;
    return row === undefined ? null : Number(row.credits);
  }

  /** What an organization was charged for, by kind. */
  async usage(organizationId: string): Promise<UsageSum[]> {
    const rows = await this.#sql<Record<keyof UsageSum, string>[]>`
      select kind, count(*) as requests, sum(units::float8 / units_per_second) as quantity, sum(amount) as credits
      from holds where organization_id = ${organizationId} and state in ('posted', 'settled')
      group by kind order by kind`;
    return rows.map(({ kind, ...sums }) => ({
      kind: kind as UsageKind,
      requests: Number(sums.requests),
      quantity: Number(sums.quantity),
      credits: Number(sums.credits),
    }));
  }

  #columns() {
    return this
      .#sql`(id, organization_id, service_id, kind, units_per_second, tariff_credits, tariff_per_units,
      key_id, endpoint, state, units, held, closed_at)`;
  }

  /** Everything of a row that never changes; the types are spelt out where no column gives them. */
  #values(sql: ISql, { id, organizationId, serviceId, kind, quantity, tariff, origin }: NewHold) {
    return sql`${id}::text, ${organizationId}::text, ${serviceId}::text, ${kind}::text,
      ${quantity.unitsPerSecond}::bigint, ${tariff.credits}::bigint, ${tariff.perUnits}::bigint,
      ${origin?.keyId ?? null}::text, ${origin?.endpoint ?? null}::text`;
  }
}

type LeftRow = Omit<LeftHold, "units"> & { readonly units: string };

function asLeft(rows: readonly LeftRow[]): LeftHold[] {
  return rows.map((row) => ({ ...row, units: Number(row.units) }));
}

/** Locks an organization's account until the transaction ends. */
async function lockAvailable(transaction: ISql, organizationId: string): Promise<number> {
  const [row] = await transaction<{ available: string }[]>`
    select balance - held as available from accounts where organization_id = ${organizationId} for no key update`;
  return Number(row?.available ?? 0);
}
