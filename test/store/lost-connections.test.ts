import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "postgres";
import { connect } from "../../src/store/connect.js";
import { EmbeddedPostgres } from "../../src/store/embedded-postgres.js";
import { eventually, SILENT, temporaryFolder } from "./support.js";

// Without scripts/patch-postgres.mjs the driver ends the process here, which no `catch` hinders.

let server: EmbeddedPostgres;
let sql: Sql;

before(async () => {
  server = await EmbeddedPostgres.start({
    dataDir: await temporaryFolder(),
    purpose: "service",
    log: SILENT,
  });
  sql = connect(server.connection, SILENT);
});
after(async () => {
  await sql.end({ timeout: 5 });
  await server.stop();
});

async function endBackend(pid: unknown): Promise<void> {
  const other = connect(server.connection, SILENT);
  await other`select pg_terminate_backend(${Number(pid)})`;
  await other.end();
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

test("a transaction that goes on behind the end of its connection is refused, and the process lives", async () => {
  let refused = "";
  const failure = await sql
    .begin(async (transaction) => {
      const [row] = await transaction`select pg_backend_pid() as pid`;
      await endBackend(row?.["pid"]);
      await sleep(100);
      await transaction`select 1`.catch((error: unknown) => {
        refused = codeOf(error);
      });
    })
    .catch(codeOf);
  assert.ok(["CONNECTION_CLOSED", "57P01"].includes(String(failure)), String(failure));
  await eventually("the query in it settles", () => refused !== "");
  assert.equal(refused, "CONNECTION_CLOSED");
  const [row] = await sql`select 1 as one`;
  assert.equal(row?.["one"], 1);
});
