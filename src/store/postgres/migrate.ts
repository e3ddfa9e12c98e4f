import type { Sql } from "postgres";
import { queueSchemaOf } from "./queue-schema.js";

/** One step of the schema, forward only. The only parameter of the SQL is the schema of the job queue. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string | ((queueSchema: string) => string);
}

/** Advisory lock that a service holds while it migrates the database: "dauy" in ASCII. */
const MIGRATION_LOCK = 0x64617579;

/**
 * Applies missing migrations in one transaction. Services that start together take turns.
 *
 * @returns how many migrations ran
 * @throws {Error} if a newer version of the service has migrated the database
 */
export async function migrate(sql: Sql, migrations: readonly Migration[]): Promise<number> {
  return await sql.begin(async (transaction) => {
    // Waiting for other services and migrating large tables may take long.
    await transaction`set local statement_timeout = 0`;
    await transaction`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    await transaction`
      create table if not exists schema_migrations (
        version integer primary key, name text not null, applied_at timestamptz not null default now()
      )`;
    const rows = await transaction<{ version: number }[]>`select version from schema_migrations`;
    const applied = new Set(rows.map((row) => row.version));
    requireKnownSchema(applied, migrations);
    const missing = migrations.filter((migration) => !applied.has(migration.version));
    const queueSchema = await queueSchemaOf(transaction);
    for (const migration of missing) {
      const text = typeof migration.sql === "string" ? migration.sql : migration.sql(queueSchema);
      await transaction.unsafe(text);
      const { version, name } = migration;
      await transaction`insert into schema_migrations ${transaction({ version, name })}`;
    }
    return missing.length;
  });
}

function requireKnownSchema(applied: ReadonlySet<number>, migrations: readonly Migration[]): void {
  const known = Math.max(0, ...migrations.map((migration) => migration.version));
  const newest = Math.max(0, ...applied);
  if (newest <= known) return;
  throw new Error(
    `Cannot use this database: its schema is at migration ${newest}, this version of the service knows up to ${known}`,
  );
}
