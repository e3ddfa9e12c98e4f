import type { Migration } from "../postgres/migrate.js";

/** Remembers which organizations were warned, so that each fall below the limit sends one mail. */
export const lowBalances: Migration = {
  version: 18,
  name: "low-balances",
  sql: "alter table organizations add column low_balance_mailed_at timestamptz",
};
