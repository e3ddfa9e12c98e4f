import type { Migration } from "../postgres/migrate.js";

/** Index for a service's regular query: its running attempts among all keys of a day. */
export const runningKeys: Migration = {
  version: 14,
  name: "running-keys",
  sql: "create index idempotency_keys_running on idempotency_keys (service_id) where state = 'running'",
};
