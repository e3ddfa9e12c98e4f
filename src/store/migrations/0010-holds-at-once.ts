import type { Migration } from "../postgres/migrate.js";

/**
 * Opens holds in a function, so that the organization's account is locked before its other holds are counted.
 * A single statement would count the state before it waited for the lock, so two services could both take the
 * last slot.
 */
export const holdsAtOnce: Migration = {
  version: 10,
  name: "holds-at-once",
  sql: `
    create index holds_by_organization_in_work on holds (organization_id, kind) where state in ('open', 'posted');

    -- Covers what there is of wanted_credits, if that is least_credits at least and fewer than most_at_once holds of the kind
    -- are in work; those in over count no more. outcome: opened, known (it was open already), too-few (credits), too-many.
    create function open_hold(
      hold_id text, hold_organization text, hold_service text, hold_kind text, hold_units bigint, hold_per_second bigint,
      hold_credits bigint, hold_per_units bigint, hold_key text, hold_endpoint text,
      wanted_credits bigint, least_credits bigint, most_at_once integer, over text[]
    ) returns table (outcome text, covered bigint, available bigint) language plpgsql as $$
      begin
        covered := 0;
        select balance - held into available from accounts
          where organization_id = hold_organization for no key update;
        available := coalesce(available, 0);
        if exists (select from holds where id = hold_id and state = 'open') then
          outcome := 'known';
          covered := (select held from holds where id = hold_id);
        elsif (
          select count(*) from holds
          where organization_id = hold_organization and kind = hold_kind and state in ('open', 'posted')
            and id <> all (over)
        ) >= most_at_once then
          outcome := 'too-many';
        elsif available < least_credits then
          outcome := 'too-few';
        else
          outcome := 'opened';
          covered := least(wanted_credits, available);
          available := available - covered;
          insert into holds (id, organization_id, service_id, kind, state, units, units_per_second, tariff_credits,
            tariff_per_units, key_id, endpoint, held)
          values (hold_id, hold_organization, hold_service, hold_kind, 'open', hold_units, hold_per_second, hold_credits,
            hold_per_units, hold_key, hold_endpoint, covered);
          update accounts set held = held + covered where organization_id = hold_organization;
        end if;
        return next;
      end
    $$;
  `,
};
