import { FREE_GRANT_CREDITS } from "../../../core/domain/usage/tariff.js";
import type { Migration } from "../postgres/migrate.js";

/**
 * Money: accounts, immutable transfers between two of them, and credits held for work in progress. Invariants
 * are database constraints, so no program can break them.
 */
export const ledger: Migration = {
  version: 2,
  name: "ledger",
  sql: `
    -- An organization's account bears its id and keeps its balance in a row, which is the lock for spending. The
    -- system's own accounts have none: it would be one lock for everybody, and their transfers say it as well.
    create table accounts (
      id              text primary key,
      organization_id text unique references organizations (id),
      balance         bigint,
      held            bigint,
      check (organization_id is null or organization_id = id),
      check ((organization_id is null) = (balance is null)),
      check ((organization_id is null) = (held is null)),
      check (balance >= 0),
      check (held >= 0),
      check (held <= balance)
    );

    create table transfers (
      id             bigint generated always as identity primary key,
      reference      text not null unique check (reference <> ''),
      kind           text not null check (kind in ('grant', 'topup', 'charge', 'refund')),
      debit_account  text not null references accounts (id),
      credit_account text not null references accounts (id),
      amount         bigint not null check (amount > 0),
      created_at     timestamptz not null default now(),
      check (debit_account <> credit_account)
    );
    create index transfers_by_debit on transfers (debit_account, id);
    create index transfers_by_credit on transfers (credit_account, id);

    create function refuse_change() returns trigger language plpgsql as $$
      begin
        raise exception 'transfers are immutable: write another one that corrects this one';
      end
    $$;
    create trigger transfers_are_immutable before update or delete on transfers
      for each row execute function refuse_change();
    create trigger transfers_are_kept before truncate on transfers
      for each statement execute function refuse_change();

    -- The same ceiling as core/domain/usage/tariff.ts, in whole numbers.
    create function credits_for(units bigint, per_second bigint, credits bigint, per_units bigint)
      returns bigint language sql immutable strict
      return (units * credits + per_second * per_units - 1) / (per_second * per_units);

    create table holds (
      id               text primary key,
      organization_id  text not null references accounts (organization_id),
      -- Whoever works for it: when that service is gone somebody else settles it.
      service_id       text not null,
      kind             text not null check (kind in ('synthesis', 'file', 'live')),
      -- open: work goes on. posted: charged, the answer is on its way. settled: charged for good. voided: never charged.
      state            text not null check (state in ('open', 'posted', 'settled', 'voided')),
      -- Samples or characters: accepted so far while a live hold is open, and what is charged afterwards.
      units            bigint not null check (units >= 0),
      units_per_second bigint not null check (units_per_second > 0),
      tariff_credits   bigint not null check (tariff_credits > 0),
      tariff_per_units bigint not null check (tariff_per_units > 0),
      held             bigint not null check (held >= 0),
      amount           bigint not null default 0,
      opened_at        timestamptz not null default now(),
      closed_at        timestamptz,
      check (amount <= held),
      check ((state = 'open') = (closed_at is null)),
      check (amount = case when state in ('posted', 'settled')
        then credits_for(units, units_per_second, tariff_credits, tariff_per_units) else 0 end)
    );
    create index holds_in_work on holds (service_id) where state in ('open', 'posted');
    create index holds_by_organization on holds (organization_id, opened_at);

    create table service_instances (
      id         text primary key,
      started_at timestamptz not null default now(),
      seen_at    timestamptz not null default now()
    );

    insert into accounts (id) values ('grants'), ('topups'), ('revenue');
    insert into accounts (id, organization_id, balance, held)
      select id, id, ${FREE_GRANT_CREDITS}, 0 from organizations;
    insert into transfers (reference, kind, debit_account, credit_account, amount)
      select 'grant:free:' || id, 'grant', 'grants', id, ${FREE_GRANT_CREDITS} from organizations;
  `,
};
