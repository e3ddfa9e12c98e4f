import type { Migration } from "../postgres/migrate.js";

/** Makes each token open only one live socket, across all services. */
export const usedTokens: Migration = {
  version: 9,
  name: "used-tokens",
  sql: `
    create table used_tokens (
      id         bytea primary key check (length(id) = 16),
      expires_at timestamptz not null
    );
    create index used_tokens_by_expiry on used_tokens (expires_at);
  `,
};
