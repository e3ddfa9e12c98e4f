import type { Migration } from "../postgres/migrate.js";

/**
 * Keys under which clients repeat a billed request without paying twice, each with the response they paid
 * for.
 */
export const idempotencyKeys: Migration = {
  version: 3,
  name: "idempotency-keys",
  sql: `
    create table idempotency_keys (
      organization_id text not null references organizations (id),
      key             text not null check (length(key) between 1 and 255),
      -- Of everything that decides about the answer: another one is another request.
      fingerprint     bytea not null check (length(fingerprint) = 32),
      kind            text not null check (kind in ('synthesis', 'file')),
      -- The last attempt; its hold, once there is one, bears the same id.
      request_id      text not null unique,
      -- Whoever works for it: when that service is gone the attempt is over.
      service_id      text not null,
      -- running: work goes on. over: ended without an answer to keep. answered: the answer is known and kept.
      state           text not null check (state in ('running', 'over', 'answered')),
      -- What attempts before the last one were charged in all, and the id that the charge is under.
      paid_request_id text,
      paid_units      bigint not null default 0 check (paid_units >= 0),
      paid_credits    bigint not null default 0 check (paid_credits >= 0),
      answer_status   smallint,
      answer_headers  jsonb,
      answer_bytes    bigint check (answer_bytes >= 0),
      -- Null for a long body: it lies in the data folder of the service that made it.
      answer_body     bytea,
      created_at      timestamptz not null default now(),
      primary key (organization_id, key),
      check ((paid_request_id is null) = (paid_units = 0)),
      check ((state = 'answered') = (answer_status is not null)),
      check ((answer_status is null) = (answer_headers is null)),
      check ((answer_status is null) = (answer_bytes is null)),
      check (answer_body is null or length(answer_body) = answer_bytes)
    );
    create index idempotency_keys_by_age on idempotency_keys (created_at);
  `,
};
