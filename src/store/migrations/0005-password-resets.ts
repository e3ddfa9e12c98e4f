import type { Migration } from "../postgres/migrate.js";

/** Links for resetting a lost password. */
export const passwordResets: Migration = {
  version: 5,
  name: "password-resets",
  sql: `
    -- Of the link's secret only a hash is kept. One a person: a new link is the only one that works.
    create table password_resets (
      user_id    text primary key references users (id) on delete cascade,
      hash       bytea not null unique check (length(hash) = 32),
      created_at timestamptz not null default now(),
      expires_at timestamptz not null
    );
  `,
};
