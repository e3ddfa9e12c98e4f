import type { Sql } from "postgres";

/** One step of the schema, forward only. The text runs as it stands, without parameters. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** "dauys" in ASCII: a service that migrates this database holds this advisory lock. */
const MIGRATION_LOCK = 0x64617579;

/**
 * Brings the schema up to the last of `migrations`, in one transaction; services that start together take turns.
 *
 * @returns how many migrations ran
 * @throws {Error} when the database was made by a newer version of the service
 */
export async function migrate(sql: Sql, migrations: readonly Migration[]): Promise<number> {
  return await sql.begin(async (transaction) => {
    // Waiting for the turn, and large tables later, take as long as they take.
    await transaction`set local statement_timeout = 0`;
    await transaction`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    await transaction`
      create table if not exists schema_migrations (
        version integer primary key, name text not null, applied_at timestamptz not null default now()
      )`;
    const rows = await transaction<{ version: number }[]>`select version from schema_migrations`;
    const applied = new Set(rows.map((row) => row.version));
    refuseNewerSchema(applied, migrations);
    const missing = migrations.filter((migration) => !applied.has(migration.version));
    for (const migration of missing) {
      await transaction.unsafe(migration.sql);
      await transaction`insert into schema_migrations ${transaction({ version: migration.version, name: migration.name })}`;
    }
    return missing.length;
  });
}

function refuseNewerSchema(applied: ReadonlySet<number>, migrations: readonly Migration[]): void {
  const known = Math.max(0, ...migrations.map((migration) => migration.version));
  const newest = Math.max(0, ...applied);
  if (newest <= known) return;
  throw new Error(
    `Cannot use this database: its schema is at migration ${newest}, this version of the service knows up to ${known}`,
  );
}
