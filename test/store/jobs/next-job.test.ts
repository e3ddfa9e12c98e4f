import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openQueue, TRANSCRIPTIONS } from "../../../src/store/jobs/queue.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { queueSchemaOf } from "../../../src/store/postgres/queue-schema.js";
import { preparedFolder } from "../../support/prepared-database.js";
import { SILENT } from "../../support/silent-log.js";
import { type LedgerTables, newLedger } from "../ledger/ledger-support.js";

let server: EmbeddedPostgres;
let tables: LedgerTables;

before(async () => {
  server = await EmbeddedPostgres.start({ dataDir: await preparedFolder(), purpose: "service", log: SILENT });
  tables = await newLedger(server);
});
after(async () => {
  await tables.sql.end({ timeout: 5 });
  await server.stop();
});

test("the next of many waiting jobs is found by an index, without sorting them", async () => {
  const { sql } = tables;
  const boss = openQueue(sql, await queueSchemaOf(sql));
  await sql`
    insert into pgboss.job (id, name) select gen_random_uuid(), ${TRANSCRIPTIONS} from generate_series(1, 10000)`;
  // Without statistics PostgreSQL expects few rows, and sorts them; its autovacuum has run within a minute.
  await sql`analyze pgboss.job`;
  let plan = "";
  const explain = async (statement: string, values: unknown[] = []) => {
    const rows = await sql.unsafe<{ "QUERY PLAN": string }[]>(`explain ${statement}`, values as never[]);
    plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    return { rows: [] };
  };
  await boss.fetch(TRANSCRIPTIONS, { batchSize: 1, db: { executeSql: explain } } as never);
  assert.match(plan, /Index Scan using \S+/);
  assert.doesNotMatch(plan, /Sort Key: [^\n]*priority/);
});
