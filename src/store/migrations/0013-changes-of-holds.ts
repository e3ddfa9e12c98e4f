import type { Migration } from "../postgres/migrate.js";

/** Opens, extends and posts many holds of many organizations in one statement. */
export const CHANGES_OF_HOLDS = `
    -- Carries out wanted, an array of changes, for each organization in the order of nth, as if each were a statement of
    -- its own. One of them never decides about those of another organization:
    --   open    covers what there is of wanted, if that is least at least and fewer than at_once holds of its kind are in work,
    --           those in over not counted: opened, known (it was open already), over (it was closed already), too-many,
    --           too-few (credits). covered is what it holds, available what is left besides.
    --   extend  covers wanted, or what there is of it: extended, closed (it was not open). covered, available as above.
    --   post    charges for units, never more than is held: posted, closed. covered is the charge.
    -- hold_ids are those of changes that are not to open one, organizations those of all. Holds are locked before accounts, and
    -- each by id: two statements that wait never wait for each other. Without is_waiting nothing waits for a lock: a change
    -- whose hold or account another transaction has is not made, and busy. With it nothing waits for longer than 4 s.
    create function change_holds(wanted jsonb, hold_ids text[], organizations text[], is_waiting boolean)
      returns table (nth integer, outcome text, covered bigint, available bigint) language plpgsql as $$
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
          if spare is not null and not is_own then
            outcome := 'busy';
          elsif change.change = 'open' then
            select state, held into hold from holds where id = change.id;
            if found then
              outcome := case hold.state when 'open' then 'known' else 'over' end;
              covered := hold.held;
            elsif change.at_once is not null and change.at_once <= (
              select count(*) from (
                select from holds where organization_id = change.organization and kind = change.kind
                  and state in ('open', 'posted') and id <> all (change.over) limit change.at_once
              ) as in_work
            ) then
              outcome := 'too-many';
            elsif spare is null or spare < change.least then
              outcome := 'too-few';
            else
              more := least(change.wanted, spare);
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
                own_holds := own_holds || change.id;
              else
                -- Entered as voided this very moment: its work is not to begin any more.
                outcome := 'over';
              end if;
            end if;
            available := coalesce(spare, 0);
          elsif not exists (
            select from holds where id = change.id and organization_id = change.organization and state = 'open'
          ) then
            outcome := 'closed';
          elsif not change.id = any (own_holds) then
            -- One that another transaction opened between the locks and this moment was not open when we asked.
            outcome := case when is_waiting then 'closed' else 'busy' end;
          elsif change.change = 'extend' then
            select held into covered from holds where id = change.id;
            more := greatest(0, least(change.wanted - covered, spare));
            if more > 0 then
              update holds set held = held + more where id = change.id;
            end if;
            outcome := 'extended';
            covered := covered + more;
            held_more := held_more + more;
            spare := spare - more;
            available := spare;
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
  `;

export const changesOfHolds: Migration = { version: 13, name: "changes-of-holds", sql: CHANGES_OF_HOLDS };
