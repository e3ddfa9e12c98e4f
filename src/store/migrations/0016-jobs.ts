import type { Migration } from "../postgres/migrate.js";
import { CHANGES_OF_HOLDS } from "./0013-changes-of-holds.js";

/**
 * Transcriptions that continue after their request ends, with their audio and results. The queue is
 * pg-boss's. Holds of jobs do not count towards the limits on concurrent requests.
 */
export const jobs: Migration = {
  version: 16,
  name: "jobs",
  sql: `
    create table jobs (
      -- Also the id in the queues.
      id              uuid primary key,
      organization_id text not null references organizations (id),
      key_id          text not null,
      -- storing: its audio is still being written.
      status          text not null
        check (status in ('storing', 'queued', 'running', 'done', 'failed', 'cancelled')),
      -- The service that stores or runs it.
      service_id      text not null,
      -- Every run has its own number: one that was presumed lost can change nothing any more.
      attempt         integer not null default 0,
      -- Runs that ended without a result.
      losses          integer not null default 0,
      options         jsonb not null,
      file_name       text,
      url             text,
      audio_bytes     bigint not null default 0,
      idempotency_key text,
      fingerprint     bytea,
      webhook_url     text,
      webhook_state   text check (webhook_state in ('pending', 'delivered', 'failed')),
      share           real not null default 0,
      audio_seconds   double precision,
      credits         bigint,
      result          text,
      error_code      text,
      error_detail    text,
      created_at      timestamptz not null default now(),
      started_at      timestamptz,
      ended_at        timestamptz,
      expires_at      timestamptz,
      check ((ended_at is null) = (status in ('storing', 'queued', 'running'))),
      check ((result is null) or status = 'done'),
      check ((status = 'failed') = (error_code is not null))
    );
    create unique index jobs_by_idempotency_key on jobs (organization_id, idempotency_key)
      where idempotency_key is not null;
    create index jobs_by_organization on jobs (organization_id, created_at desc, id desc);
    create index jobs_waiting on jobs (organization_id) where status in ('storing', 'queued', 'running');
    create index jobs_in_work on jobs (service_id) where status in ('storing', 'running');
    create index jobs_by_expiry on jobs (expires_at) where expires_at is not null;

    create table job_audio (
      job_id uuid not null references jobs (id) on delete cascade,
      part   integer not null,
      bytes  bytea not null,
      primary key (job_id, part)
    );
    -- Audio is compressed already.
    alter table job_audio alter column bytes set storage external;

    -- Secrets of webhooks are derived from the pepper; only their number is stored.
    create table webhook_secrets (
      organization_id text primary key references organizations (id),
      number          integer not null default 1,
      rotated_at      timestamptz not null default now()
    );

    ${CHANGES_OF_HOLDS.replace("create function", "create or replace function").replace(
      "and id <> all (change.over)",
      "and id <> all (change.over) and not starts_with(id, 'job_')",
    )}
  `,
};
