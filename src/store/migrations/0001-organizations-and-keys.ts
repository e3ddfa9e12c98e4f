import type { Migration } from "../postgres/migrate.js";

/** Organizations and their API keys, of which only hashes are stored. */
export const organizationsAndKeys: Migration = {
  version: 1,
  name: "organizations-and-keys",
  sql: `
    create table settings (
      name  text primary key,
      value text not null
    );

    create table organizations (
      id         text primary key check (id like 'org\\_%'),
      name       text not null check (name <> ''),
      created_at timestamptz not null default now()
    );

    create table api_keys (
      id              text primary key check (id like 'key\\_%'),
      organization_id text not null references organizations (id),
      hash            bytea not null unique check (length(hash) = 32),
      prefix          text not null,
      last_four       text not null,
      name            text not null,
      created_at      timestamptz not null default now(),
      last_used_at    timestamptz,
      revoked_at      timestamptz
    );

    create index api_keys_by_organization on api_keys (organization_id, created_at);
  `,
};
