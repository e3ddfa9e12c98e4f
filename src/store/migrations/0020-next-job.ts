import type { Migration } from "../postgres/migrate.js";

/**
 * The order in which pg-boss takes jobs. Its own index has no order, so with 10,000 waiting jobs each take
 * sorted them for 9 ms; with this one it takes 0.04 ms, once PostgreSQL has counted the jobs (autovacuum).
 */
export const nextJob: Migration = {
  version: 20,
  name: "next-job",
  sql: (queue) => `
    create index job_next on ${queue}.job (name, priority desc, created_on, id) where state < 'active'`,
};
