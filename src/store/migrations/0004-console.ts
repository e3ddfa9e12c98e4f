import type { Migration } from "../postgres/migrate.js";

/** Users of the console, their credentials, and vouchers; adds the key and path of the work to holds. */
export const consoleTables: Migration = {
  version: 4,
  name: "console",
  sql: `
    create table users (
      id            text primary key check (id like 'usr\\_%'),
      email         text not null unique check (email = lower(email) and email like '%_@_%'),
      -- scrypt$N$r$p$salt$hash, the last two in base64.
      password_hash text not null,
      created_at    timestamptz not null default now()
    );

    create table memberships (
      organization_id text not null references organizations (id),
      user_id         text not null references users (id),
      role            text not null check (role in ('owner', 'member')),
      created_at      timestamptz not null default now(),
      primary key (organization_id, user_id)
    );
    create index memberships_by_user on memberships (user_id, created_at);

    -- Of the cookie only a hash is kept.
    create table sessions (
      hash       bytea primary key check (length(hash) = 32),
      user_id    text not null references users (id) on delete cascade,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null
    );
    create index sessions_by_user on sessions (user_id);

    create table invitations (
      id              text primary key check (id like 'inv\\_%'),
      organization_id text not null references organizations (id),
      hash            bytea not null unique check (length(hash) = 32),
      role            text not null check (role in ('owner', 'member')),
      created_by      text not null references users (id),
      created_at      timestamptz not null default now(),
      expires_at      timestamptz not null,
      accepted_by     text references users (id),
      revoked_at      timestamptz
    );
    create index invitations_by_organization on invitations (organization_id, created_at);

    create table vouchers (
      id              text primary key check (id like 'vch\\_%'),
      hash            bytea not null unique check (length(hash) = 32),
      last_four       text not null,
      credits         bigint not null check (credits > 0),
      note            text not null,
      created_at      timestamptz not null default now(),
      expires_at      timestamptz,
      redeemed_at     timestamptz,
      organization_id text references organizations (id),
      redeemed_by     text references users (id),
      check ((redeemed_at is null) = (organization_id is null))
    );

    -- Null for work from before. A key that lives only in memory has no row in api_keys.
    alter table holds add column key_id text, add column endpoint text;
  `,
};
