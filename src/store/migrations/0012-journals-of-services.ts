import type { Migration } from "../postgres/migrate.js";

/** Stores the usage of a service's live sessions as one value, instead of one row per hold. */
export const journalsOfServices: Migration = {
  version: 12,
  name: "journals-of-services",
  sql: `
    -- Samples that live holds of the service had accepted at its last journal, one number for each hold. Journals are
    -- counted, since one that was cut off with its connection may arrive after the next.
    alter table service_instances
      add column journal_nth bigint not null default 0, add column journal_holds text[], add column journal_units bigint[];

    -- Holds of a service that is gone are settled by their own units, as they were when each was journaled there: so the
    -- journal goes to them with the service's entry, also when a service of an earlier version removes that.
    create function keep_journal() returns trigger language plpgsql as $$
      begin
        perform from holds where id = any (old.journal_holds) and service_id = old.id and state = 'open'
          order by id for no key update;
        update holds set units = journal.units
          from unnest(old.journal_holds, old.journal_units) as journal (id, units)
          where holds.id = journal.id and holds.service_id = old.id and holds.state = 'open'
            and holds.units < journal.units;
        return old;
      end
    $$;
    create trigger journals_are_kept before delete on service_instances
      for each row when (old.journal_holds is not null) execute function keep_journal();
  `,
};
