import type { Migration } from "../postgres/migrate.js";

/**
 * Adds monthly caps, allowed endpoints, expiry and a second secret to keys, and counts what each key spends
 * per month. A trigger maintains the counter, so that every change of a hold, even by an older service,
 * updates both in one transaction.
 */
export const keyLimits: Migration = {
  version: 17,
  name: "key-limits",
  sql: `
    alter table api_keys
      -- Credits in a calendar month, UTC; null for no cap.
      add column monthly_credits bigint check (monthly_credits > 0),
      -- Names of allowed endpoints; null for all.
      add column endpoints text[] check (cardinality(endpoints) > 0),
      add column expires_at timestamptz,
      -- How often the secret was replaced; the one before is valid until previous_until.
      add column rotations integer not null default 0 check (rotations >= 0),
      add column previous_hash bytea unique check (length(previous_hash) = 32),
      add column previous_until timestamptz,
      add check ((previous_hash is null) = (previous_until is null));

    -- Whether a key, with the secret that it had after so many rotations, is valid now.
    create function key_is_active(key api_keys, secret integer) returns boolean language sql stable as $$
      select key.revoked_at is null and (key.expires_at is null or key.expires_at > now()) and (
        secret = key.rotations or secret = key.rotations - 1 and coalesce(key.previous_until > now(), false))
    $$;

    -- A hold counts in the month in which it was opened. Rows are changed under the lock of the account of the
    -- key's organization, which every change of held credits takes before.
    create table key_months (
      key_id  text not null,
      month   date not null,
      held    bigint not null check (held >= 0),
      charged bigint not null check (charged >= 0),
      primary key (key_id, month)
    );

    create function month_of(moment timestamptz) returns date language sql stable
      return date_trunc('month', moment at time zone 'UTC')::date;

    create function count_key_month() returns trigger language plpgsql as $$
      declare
        held_more bigint := case new.state when 'open' then new.held else 0 end;
        charged_more bigint := new.amount;
      begin
        if tg_op = 'UPDATE' then
          held_more := held_more - case old.state when 'open' then old.held else 0 end;
          charged_more := charged_more - old.amount;
        end if;
        if held_more = 0 and charged_more = 0 then
          return null;
        end if;
        update key_months set held = held + held_more, charged = charged + charged_more
          where key_id = new.key_id and month = month_of(new.opened_at);
        if not found then
          insert into key_months (key_id, month, held, charged)
            values (new.key_id, month_of(new.opened_at), held_more, charged_more);
        end if;
        return null;
      end
    $$;
    -- The playground's keys share an id over all organizations, and have no month.
    create trigger key_months_are_counted after insert or update of state, held, amount on holds
      for each row when (new.key_id like 'key\\_%') execute function count_key_month();

    -- The trigger's lock on holds keeps others from changing them until all are counted.
    insert into key_months (key_id, month, held, charged)
      select key_id, month_of(opened_at), sum(case state when 'open' then held else 0 end), sum(amount)
      from holds where key_id like 'key\\_%' and (state = 'open' or amount > 0) group by 1, 2;

    -- Credits that the cap of a key leaves in the month of moment; null for no cap.
    create function key_room(key text, moment timestamptz) returns bigint language sql stable as $$
      select greatest(0, monthly_credits - coalesce((
        select held + charged from key_months where key_id = key and month = month_of(moment)), 0))
      from api_keys where id = key and monthly_credits is not null
    $$;

    -- As before, without holds of jobs in the limits on concurrent requests, and within the monthly caps of keys. A service of an earlier version reads the same outcomes.
    drop function change_holds;
    -- Carries out wanted, an array of changes, for each organization in the order of nth, as if each were a statement of
    -- its own. One of them never decides about those of another organization:
    --   open    covers what there is of wanted, if that is least at least and fewer than at_once holds of its kind are in work,
    --           those in over and of jobs not counted: opened, known (it was open already), over (it was closed already), too-many,
    --           too-few (credits). covered is what it holds, available what is left besides,
    --           capped the monthly cap of its key if that leaves less than the account does.
    --   extend  covers wanted, or what there is of it: extended, closed (it was not open). covered, available as above.
    --   post    charges for units, never more than is held: posted, closed. covered is the charge.
    -- hold_ids are those of changes that are not to open one, organizations those of all. Holds are locked before accounts, and
    -- each by id: two statements that wait never wait for each other. Without is_waiting nothing waits for a lock: a change
    -- whose hold or account another transaction has is not made, and busy. With it nothing waits for longer than 4 s.
    create function change_holds(wanted jsonb, hold_ids text[], organizations text[], is_waiting boolean)
      returns table (nth integer, outcome text, covered bigint, available bigint, capped bigint) language plpgsql as $$
      declare
        change record;
        hold record;
        own_holds text[];
        own_accounts text[];
        organization_now text;
        is_own boolean;
        spare bigint;
        more bigint;
        held_more bigint := 0;
        spent bigint := 0;
        room bigint;
      begin
        if is_waiting then
          perform set_config('lock_timeout', '4s', true);
        end if;
        if cardinality(hold_ids) = 0 then
          own_holds := '{}';
        elsif is_waiting then
          own_holds := array(
            select id from holds where id = any (hold_ids) and state = 'open' order by id for no key update);
        else
          own_holds := array(
            select id from holds where id = any (hold_ids) and state = 'open' order by id for no key update skip locked);
        end if;
        if is_waiting then
          own_accounts := array(
            select organization_id from accounts where organization_id = any (organizations)
            order by organization_id for no key update);
        else
          own_accounts := array(
            select organization_id from accounts where organization_id = any (organizations)
            order by organization_id for no key update skip locked);
        end if;
        for change in
          select * from jsonb_to_recordset(wanted) as item (
            nth integer, change text, id text, organization text, service text, kind text, units bigint, per_second bigint,
            credits bigint, per_units bigint, key text, endpoint text, wanted bigint, least bigint, at_once integer, over text[],
            state text)
          order by item.organization, item.nth
        loop
          if change.organization is distinct from organization_now then
            if held_more <> 0 or spent <> 0 then
              update accounts set held = held + held_more, balance = balance - spent
                where organization_id = organization_now;
            end if;
            organization_now := change.organization;
            held_more := 0;
            spent := 0;
            is_own := organization_now = any (own_accounts);
            -- Read once the account is ours: together with the lock it would be as of the time before the wait.
            select balance - held into spare from accounts where organization_id = organization_now;
          end if;
          nth := change.nth;
          covered := 0;
          available := coalesce(spare, 0);
          capped := null;
          if spare is not null and not is_own then
            outcome := 'busy';
          elsif change.change = 'open' then
            room := key_room(change.key, now());
            if room < spare then
              capped := (select monthly_credits from api_keys where api_keys.id = change.key);
            end if;
            select state, held into hold from holds where id = change.id;
            if found then
              outcome := case hold.state when 'open' then 'known' else 'over' end;
              covered := hold.held;
            elsif change.at_once is not null and change.at_once <= (
              select count(*) from (
                select from holds where organization_id = change.organization and kind = change.kind
                  and state in ('open', 'posted') and id <> all (change.over) and not starts_with(id, 'job_')
                limit change.at_once
              ) as in_work
            ) then
              outcome := 'too-many';
            elsif spare is null or least(spare, room) < change.least then
              outcome := 'too-few';
            else
              more := least(change.wanted, spare, room);
              insert into holds (id, organization_id, service_id, kind, state, units, units_per_second, tariff_credits,
                tariff_per_units, key_id, endpoint, held)
              values (change.id, change.organization, change.service, change.kind, 'open', change.units, change.per_second,
                change.credits, change.per_units, change.key, change.endpoint, more)
              on conflict (id) do nothing;
              if found then
                outcome := 'opened';
                covered := more;
                held_more := held_more + more;
                spare := spare - more;
                room := room - more;
                own_holds := own_holds || change.id;
              else
                -- Entered as voided this very moment: its work is not to begin any more.
                outcome := 'over';
              end if;
            end if;
            available := case when spare is null then 0 else least(spare, room) end;
          elsif not exists (
            select from holds where id = change.id and organization_id = change.organization and state = 'open'
          ) then
            outcome := 'closed';
          elsif not change.id = any (own_holds) then
            -- One that another transaction opened between the locks and this moment was not open when we asked.
            outcome := case when is_waiting then 'closed' else 'busy' end;
          elsif change.change = 'extend' then
            select held, key_id, opened_at into hold from holds where id = change.id;
            covered := hold.held;
            room := key_room(hold.key_id, hold.opened_at);
            if room < spare then
              capped := (select monthly_credits from api_keys where api_keys.id = hold.key_id);
            end if;
            more := greatest(0, least(change.wanted - covered, spare, room));
            if more > 0 then
              update holds set held = held + more where id = change.id;
            end if;
            outcome := 'extended';
            covered := covered + more;
            held_more := held_more + more;
            spare := spare - more;
            available := least(spare, room - more);
          else
            update holds set state = change.state, closed_at = now(),
              units = least(change.units, held * units_per_second * tariff_per_units / tariff_credits),
              amount = credits_for(
                least(change.units, held * units_per_second * tariff_per_units / tariff_credits),
                units_per_second, tariff_credits, tariff_per_units)
              where id = change.id
              returning held, amount into hold;
            if hold.amount > 0 then
              insert into transfers (reference, kind, debit_account, credit_account, amount)
              values ('charge:' || change.id, 'charge', change.organization, 'revenue', hold.amount);
            end if;
            outcome := 'posted';
            covered := hold.amount;
            held_more := held_more - hold.held;
            spent := spent + hold.amount;
            spare := spare + hold.held - hold.amount;
            available := spare;
          end if;
          return next;
        end loop;
        if held_more <> 0 or spent <> 0 then
          update accounts set held = held + held_more, balance = balance - spent
            where organization_id = organization_now;
        end if;
      end
    $$;
  `,
};
