import type { Migration } from "../postgres/migrate.js";

/** Adds the creator of a key, and withdraws invitations that outlived their inviter's rights. */
export const keyMakers: Migration = {
  version: 6,
  name: "key-makers",
  sql: `
    -- Null for keys from before, and for those that an operator made.
    alter table api_keys add column created_by text references users (id);
    create index api_keys_by_maker on api_keys (created_by) where created_by is not null;

    update invitations set revoked_at = now()
    where accepted_by is null and revoked_at is null and not exists (
      select 1 from memberships
      where memberships.organization_id = invitations.organization_id
        and memberships.user_id = invitations.created_by and memberships.role = 'owner');
  `,
};
