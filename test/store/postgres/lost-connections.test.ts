import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";
import { after, before, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Sql } from "postgres";
import { connect } from "../../../src/store/postgres/connect.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { isAlive } from "../../../src/store/postgres/folder-lock.js";
import { eventually } from "../../support/eventually.js";
import { within } from "../../support/pace.js";
import { preparedFolder } from "../../support/prepared-database.js";
import { SILENT } from "../../support/silent-log.js";

// Without scripts/patch-postgres.mjs the driver would end the process here, and no `catch` could prevent
// that.

let server: EmbeddedPostgres;
let sql: Sql;

before(async () => {
  server = await EmbeddedPostgres.start({
    dataDir: await preparedFolder(),
    purpose: "service",
    log: SILENT,
  });
  sql = connect(server.connection, SILENT);
});
after(async () => {
  await sql.end({ timeout: 5 });
  await server.stop();
});

/** Ends a backend. Settles once this process has seen its connection close. */
async function endBackend(pid: unknown): Promise<void> {
  const other = connect(server.connection, SILENT);
  await other`select pg_terminate_backend(${Number(pid)})`;
  await other.end();
  await eventually("the backend has ended", () => !isAlive(Number(pid)));
  // The kernel has already closed the connection; the event loop notices that in the next turn.
  for (let turn = 0; turn < 3; turn++) await setImmediate();
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

test("a transaction that continues after its connection has closed rejects without a crash", async () => {
  let refused = "";
  const failure = await sql
    .begin(async (transaction) => {
      const [row] = await transaction`select pg_backend_pid() as pid`;
      await endBackend(row?.["pid"]);
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

/** A proxy between driver and server. `onAsked` sees what the driver sends before the server sees it. */
async function proxied(
  t: TestContext,
  onAsked: (said: Buffer, client: Socket) => "forward" | "swallow",
): Promise<Sql> {
  const proxy = createServer((client) => {
    const upstream = dial(server.connection.port, server.connection.host);
    client.on("data", (said) => onAsked(said, client) === "forward" && upstream.write(said));
    upstream.on("data", (said) => client.write(said));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => other.destroy());
    }
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const through = connect({ ...server.connection, port: (proxy.address() as AddressInfo).port }, SILENT);
  t.after(async () => {
    await through.end({ timeout: 1 });
    proxy.close();
  });
  return through;
}

// The driver fetches array types on a new connection, before the query that opened it.
test("a query survives a connection that closes while it fetches types", async (t) => {
  let endedCount = 0;
  const through = await proxied(t, (said, client) => {
    if (endedCount >= 3 || !said.includes("pg_catalog.pg_type")) return "forward";
    endedCount++;
    client.end(terminatedByAdministrator());
    return "swallow";
  });
  const [row] = await through`select ${[1, 2]}::bigint[] as numbers`;
  assert.deepEqual(row?.["numbers"], [1, 2]);
  assert.equal(endedCount, 3);
});

test("a query between the error and the close of its connection rejects instead of returning an empty result", async (t) => {
  let resetCount = 0;
  const through = await proxied(t, (said, client) => {
    if (!said.includes("as doomed")) return "forward";
    resetCount++;
    client.resetAndDestroy();
    return "swallow";
  });
  // All connections are open and idle, so that each of them gets one of the queries.
  await Promise.all(Array.from({ length: 8 }, () => through`select pg_sleep(0.1)`));
  const second: Promise<string>[] = [];
  await Promise.all(
    Array.from({ length: 8 }, () =>
      through`select 1 as doomed`.catch(() => {
        for (let more = 0; more < 4; more++) {
          second.push(through`select 2 as two`.then((rows) => `${rows.length} row`, codeOf));
        }
      }),
    ),
  );
  assert.ok(resetCount > 0);
  const settled = new Set<string>();
  await within(
    60_000,
    "every query settles",
    Promise.all(second.map(async (each) => settled.add(await each))),
  );
  const strange = [...settled].filter(
    (outcome) => !["1 row", "CONNECTION_CLOSED", "ECONNRESET"].includes(outcome),
  );
  assert.deepEqual(strange, []);
});

test("a transaction that fills a connection's pipeline contains no other statements", async () => {
  await sql`create table if not exists written (id int)`;
  const connections = 8;
  await Promise.all(Array.from({ length: connections }, () => sql`select pg_sleep(0.1)`));
  // One query runs on each connection. The queries below fill the rest of its pipeline, which holds 100.
  const waiting = Array.from({ length: connections }, () => sql`select pg_sleep(0.5)`.then(() => 1));
  for (let each = 0; each < 99 * connections; each++) waiting.push(sql`select 1`.then(() => 1));
  const transactions = Array.from({ length: 2 * connections }, (_, id) =>
    sql.begin((transaction) => transaction`insert into written values (${id})`.then(() => id)),
  );
  assert.deepEqual(await Promise.all(transactions), [...transactions.keys()]);
  await Promise.all(waiting);
  const [open] = await sql`
    select count(*)::int as count from pg_stat_activity where state like 'idle in transaction%'`;
  assert.equal(open?.["count"], 0, "transactions that nobody ends");
  const [written] = await sql`select count(*)::int as count from written`;
  assert.equal(written?.["count"], transactions.length);
});

/** The message that a server sends to a client whose backend is terminated. */
function terminatedByAdministrator(): Buffer {
  const fields = ["SFATAL", "VFATAL", "C57P01", "Mterminating connection due to administrator command"];
  const text = Buffer.from(`${fields.map((field) => `${field}\0`).join("")}\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeUInt32BE(text.length + 4, 1);
  return Buffer.concat([head, text]);
}
