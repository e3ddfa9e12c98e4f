import type { ISql } from "postgres";

/**
 * Returns the schema of the job queue's tables: `pgboss`, or a separate one if our own schema is not the
 * default, so that two installations in one database have separate queues.
 */
export async function queueSchemaOf(sql: ISql): Promise<string> {
  const [row] = await sql<{ name: string | null }[]>`select current_schema() as name`;
  const name = row?.name ?? "public";
  return name === "public" ? "pgboss" : `${name.replace(/\W/g, "_")}_pgboss`;
}
