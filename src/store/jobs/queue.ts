import PgBoss from "pg-boss";
import type { ISql, Sql } from "postgres";

export const TRANSCRIPTIONS = "transcriptions";
export const WEBHOOKS = "webhooks";

/** Lets pg-boss run its statements on our connection or in our transaction. */
export function through(sql: ISql): PgBoss.Db {
  return {
    executeSql: async (text, values: unknown[] = []) => {
      const rows = await sql.unsafe(text, values.map((value) => value ?? null) as never[]);
      return { rows: [...rows] };
    },
  };
}

/**
 * Opens pg-boss on our connections, without its timers and migrations, which ours replace. It must not be
 * started or stopped.
 * started or stopped.
 */
export function openQueue(sql: Sql, schema: string): PgBoss {
  return new PgBoss({
    schema,
    db: throughOwn(sql),
    migrate: false,
    supervise: false,
    schedule: false,
  });
}

/**
 * Runs statements on a separate connection: pg-boss wraps maintenance in BEGIN and COMMIT, which a pool must
 * not do.
 */
function throughOwn(sql: Sql): PgBoss.Db {
  return {
    executeSql: async (text, values) => {
      const inside = /^\s*BEGIN;([\s\S]*)COMMIT;\s*$/.exec(text)?.[1];
      if (inside === undefined) return through(sql).executeSql(text, values);
      await sql.begin((transaction) => transaction.unsafe(inside));
      return { rows: [] };
    },
  };
}
