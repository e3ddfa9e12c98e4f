import type { Migration } from "../postgres/migrate.js";

/** Counts sign-in attempts and the like across all services. */
export const attempts: Migration = {
  version: 11,
  name: "attempts",
  sql: `
    -- Of the name only a keyed hash is kept: it may be the address of a person without an account here.
    create table attempts (
      name  bytea primary key check (length(name) = 32),
      count integer not null check (count >= 0),
      until timestamptz not null
    );
    create index attempts_by_end on attempts (until);
  `,
};
