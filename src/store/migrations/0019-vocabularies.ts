import type { Migration } from "../postgres/migrate.js";

/** Stores words that apply to all requests of an organization, as many as one request may have. */
export const vocabularies: Migration = {
  version: 19,
  name: "vocabularies",
  sql: `
    create table vocabularies (
      organization_id text primary key references organizations (id),
      hotwords text[] not null check (cardinality(hotwords) <= 100),
      -- A list of {"word", "say"}.
      pronunciations jsonb not null check (jsonb_array_length(pronunciations) <= 100),
      updated_at timestamptz not null default now()
    )`,
};
